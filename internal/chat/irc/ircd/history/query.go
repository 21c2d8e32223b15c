package history

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A Range is the messages of a conversation between two IDs, both excluded.
type Range struct {
	After  uint64 // 0: from the beginning
	Before uint64 // 0: to the end
	Newest bool   // if there are more than the limit: the newest, else the oldest
	Limit  int
}

// Names returns the conversations that a reader wants. It is never nil.
func (l *Log) Names(wanted func(name string) bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := []string{}
	for name := range l.conversations {
		if wanted(name) {
			names = append(names, name)
		}
	}
	return names
}

// Select returns the messages of a range, of some conversations as one, oldest
// first.
func (l *Log) Select(conversations []string, r Range) ([]Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.entriesLocked(conversations)
	from := sort.Search(len(entries), func(i int) bool { return entries[i].id > r.After })
	to := len(entries)
	if r.Before > 0 {
		to = sort.Search(len(entries), func(i int) bool { return entries[i].id >= r.Before })
	}
	if from >= to || r.Limit <= 0 {
		return nil, nil
	}
	entries = entries[from:to]
	if extra := len(entries) - r.Limit; extra > 0 && r.Newest {
		entries = entries[extra:]
	} else if extra > 0 {
		entries = entries[:r.Limit]
	}
	records := make([]Record, 0, len(entries))
	for _, e := range entries {
		record, err := e.segment.read(e)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// entriesLocked returns where the messages of some conversations are, oldest
// first.
func (l *Log) entriesLocked(conversations []string) []entry {
	if len(conversations) == 1 {
		return l.conversations[conversations[0]]
	}
	var all []entry
	for _, name := range conversations {
		all = append(all, l.conversations[name]...)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	return all
}

// FirstAt returns the smallest ID that a message of this time, in
// milliseconds, can have. All messages with a smaller ID are older.
func FirstAt(t time.Time) uint64 {
	return uint64(max(t.Truncate(time.Millisecond).UnixMicro(), 1))
}

// A Conversation and when its newest message within some time was sent.
type Conversation struct {
	Name   string
	Newest time.Time
}

// Conversations returns those that had a message between two IDs, both
// excluded, and that a reader may see; the one with the oldest first.
func (l *Log) Conversations(after, before uint64, limit int, visible func(name string) bool) []Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	type found struct {
		name string
		id   uint64
	}
	var all []found
	for name, entries := range l.conversations {
		i := sort.Search(len(entries), func(i int) bool { return entries[i].id >= before })
		if i > 0 && entries[i-1].id > after && visible(name) {
			all = append(all, found{name, entries[i-1].id})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	result := make([]Conversation, 0, min(len(all), limit))
	for _, f := range all[:min(len(all), limit)] {
		result = append(result, Conversation{f.name, timeOf(f.id)})
	}
	return result
}
