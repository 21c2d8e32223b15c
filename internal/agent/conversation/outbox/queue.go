package outbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/statefile"
	"den/internal/base/wake"
)

const (
	recordVersion = 1
	maxPending    = 1000     // more are refused as busy
	maxText       = 4 << 20  // bytes of one
	keptFinal     = 200      // of the rest, the oldest are forgotten; for their ids, see pastFor
	maxRecord     = 32 << 20 // a larger file is not one of ours
)

// A Queue keeps one agent's messages in a directory. One process at a time
// owns it: the keeper of the workspace.
type Queue struct {
	dir    string
	sender chan struct{} // holds one token; whoever has it sends
	typist chan struct{} // holds one token; whoever has it types
	added  wake.Signal   // room for one token: a message was added
	onEnd  func(Message) // set once, before the first message is sent; or nil

	mu       sync.Mutex // guards the fields below
	messages []*Message // by key
	past     pastIDs
	damaged  []string
	handed   time.Time // when the last of those that were moved out was handed over
	paused   string    // why nothing may be sent now, or ""
	managed  bool      // somebody in this process decides whether to pause
}

// Open reads the queue in dir, which is made for the first message. A file
// that cannot be read is left where it is, and named by Damaged.
func Open(dir string) (*Queue, error) {
	q := &Queue{dir: dir, sender: make(chan struct{}, 1), typist: make(chan struct{}, 1), added: wake.New()} // one token each
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open messages %s: %w", dir, err)
	}
	if q.past, err = openPast(dir, time.Now()); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if key, ok := strings.CutSuffix(e.Name(), ".json"); ok && ident.IsID(key) {
			q.load(key)
		}
	}
	return q, nil
}

// Read returns the messages of a queue that another process has, the oldest
// first, without those that cannot be read.
func Read(dir string) ([]Message, error) {
	q, err := Open(dir)
	if err != nil {
		return nil, err
	}
	return q.List(), nil
}

func (q *Queue) load(key string) {
	m, _, err := statefile.Load[Message](q.path(key), recordVersion, maxRecord)
	if m.Key == "" {
		m.Key = m.ID
	}
	if isOldStatus(m.Status) {
		m.Status = conversation.Sent
	}
	if err != nil || m.Key != key || m.Text == "" {
		q.damaged = append(q.damaged, q.path(key))
		return
	}
	q.messages = append(q.messages, &m)
}

func (q *Queue) path(key string) string { return filepath.Join(q.dir, key+".json") }

// OnEnd has tell called with every message that comes to its end, and again
// where more becomes known of one that was sent. It is to be
// called before anything is sent.
func (q *Queue) OnEnd(tell func(Message)) { q.onEnd = tell }

// Damaged returns the files that could not be read.
func (q *Queue) Damaged() []string { return slices.Clone(q.damaged) }

// Added receives after a message was added. Tokens are merged.
func (q *Queue) Added() <-chan struct{} { return q.added }

// TryClaim takes the right to send; false where somebody has it. Only one
// caller sends at a time, so that messages neither mix nor overtake each other.
func (q *Queue) TryClaim() bool {
	select {
	case q.sender <- struct{}{}:
		return true
	default:
		return false
	}
}

// Release gives the right to send back.
func (q *Queue) Release() { <-q.sender }

// TryType takes the right to press keys; false where somebody has it. Who sends
// has it only while something is typed: a message that waits for a question to
// be decided must not keep anybody from deciding it.
func (q *Queue) TryType() bool {
	select {
	case q.typist <- struct{}{}:
		return true
	default:
		return false
	}
}

// StopTyping gives the right to press keys back.
func (q *Queue) StopTyping() { <-q.typist }

// Pause keeps everybody from sending, and says why; Resume takes that back. The
// queue outlives the agent's configuration, so a pause holds whatever becomes of
// that meanwhile.
func (q *Queue) Pause(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paused, q.managed = why, true
}

// Resume allows sending.
func (q *Queue) Resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.paused, q.managed = "", true
}

// Paused says why nothing may be sent now, "" if it may. managed is false while
// neither Pause nor Resume was called in this process.
func (q *Queue) Paused() (why string, managed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.paused, q.managed
}

// Add keeps a message. When it returns, the message survives a crash. An id
// that is kept already is that message, whatever became of it; with another
// text it is fault.Usage. One whose message was Forgotten is still known for a
// while. Without an id one is made.
func (q *Queue) Add(id, text string) (Message, error) { return q.add(Message{ID: id, Text: text}) }

// AddRouted is Add of a message whose answer goes somewhere.
func (q *Queue) AddRouted(id, text, route string) (Message, error) {
	return q.add(Message{ID: id, Text: text, Route: route})
}

// AddUrgent is Add of a message that does not wait behind others: only those
// whose sending has begun are before it.
func (q *Queue) AddUrgent(id, text string) (Message, error) {
	return q.add(Message{ID: id, Text: text, Urgent: true})
}

// AddFirst keeps the message of a start, in the place of one that an earlier
// start left unsent: an agent that starts ten times hears it once. A start that
// is resumed gives the same id again.
func (q *Queue) AddFirst(id, text string) (Message, error) {
	q.mu.Lock()
	if m, known, err := q.repeatedLocked(id, text); known {
		defer q.mu.Unlock()
		return m, err
	}
	var old []*Message
	for _, m := range q.messages {
		if m.First && m.Status == conversation.Queued {
			old = append(old, m)
		}
	}
	q.mu.Unlock()
	for _, m := range old {
		if err := q.forget(m); err != nil {
			return Message{}, err
		}
	}
	return q.add(Message{ID: id, Text: text, First: true})
}

func (q *Queue) add(m Message) (Message, error) {
	if err := check(m.ID, m.Text); err != nil {
		return Message{ID: m.ID}, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, known, err := q.repeatedLocked(m.ID, m.Text); known {
		return old, err
	}
	if q.pendingLocked() >= maxPending {
		return Message{ID: m.ID}, fault.Hintf(fault.Errorf(fault.Busy, "%d messages wait already", maxPending), "look at what the agent does: den agent peek")
	}
	now := time.Now()
	m.Version, m.Key, m.Status, m.Created, m.Updated = recordVersion, q.newKeyLocked(now), conversation.Queued, now, now
	if m.ID == "" {
		m.ID = m.Key
	}
	if err := q.write(&m); err != nil {
		return Message{ID: m.ID}, err
	}
	q.messages = append(q.messages, &m)
	q.added.Set()
	return m, nil
}

func check(id, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fault.Errorf(fault.Usage, "a message needs text")
	case len(text) > maxText:
		return fault.Hintf(fault.Errorf(fault.Usage, "a message of %d bytes is too long, %d fit", len(text), maxText), "put it into a file and name that")
	case id != "" && !validID(id):
		return fault.Errorf(fault.Usage, "message id %.40q: use 1 to %d letters, digits, '_', '-', '.' or ':'", id, maxID)
	}
	return nil
}

const maxID = 128

func validID(id string) bool {
	if len(id) > maxID {
		return false
	}
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:", r)) {
			return false
		}
	}
	return true
}

// repeatedLocked returns the message that has the id already. It is an error
// where that has another text.
func (q *Queue) repeatedLocked(id, text string) (m Message, known bool, err error) {
	if id == "" {
		return m, false, nil
	}
	same := false
	if old := q.findLocked(id); old != nil {
		m, same = *old, old.Text == text
	} else if old, ok := q.past.find(id, time.Now()); ok {
		m, same = old.message(), old.Text == hashText(text)
	} else {
		return m, false, nil
	}
	if !same {
		err = OtherText(id)
	}
	return m, true, err
}

// OtherText is the error for an id that a message with another text has.
func OtherText(id string) error {
	return fault.Hintf(fault.Errorf(fault.Usage, "id '%s' is that of a message with another text", id), "give every message an id of its own")
}

// newKeyLocked makes a key that is larger than all others.
func (q *Queue) newKeyLocked(now time.Time) string {
	last := ""
	if n := len(q.messages); n > 0 {
		last = q.messages[n-1].Key
	}
	return ident.NewAfter(last, now)
}

// write keeps a message on disk.
func (q *Queue) write(m *Message) error {
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return err
	}
	return statefile.Save(q.path(m.Key), recordVersion, *m)
}

// forget removes a message.
func (q *Queue) forget(m *Message) error {
	if err := q.keepID(m); err != nil {
		return err
	}
	if err := os.Remove(q.path(m.Key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget message %s: %w", m.ID, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = slices.DeleteFunc(q.messages, func(o *Message) bool { return o == m })
	return nil
}

// keepID keeps the id of a message that is over, on disk before it is removed.
func (q *Queue) keepID(m *Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !m.Status.Final() {
		return nil
	}
	return q.past.add(m, time.Now())
}

// MoveOut takes a message out of the queue that another has from now on, with
// its id, and tells as Finish does. It also tells of one that never was here.
func (q *Queue) MoveOut(moved Message) error {
	q.NoteHanded(moved.Handed)
	q.mu.Lock()
	m := q.findLocked(moved.ID)
	q.mu.Unlock()
	if m != nil && !m.Status.Final() {
		if err := q.forget(m); err != nil {
			return err
		}
	}
	if q.onEnd != nil {
		q.onEnd(moved)
	}
	return nil
}

// NoteHanded notes when a message was handed over that is not here.
func (q *Queue) NoteHanded(at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at.After(q.handed) {
		q.handed = at
	}
}

// Update changes a message, on disk first. Its caller has claimed the queue, or
// the message is over.
func (q *Queue) Update(id string, change func(*Message)) error {
	q.mu.Lock()
	m := q.findLocked(id)
	if m == nil {
		q.mu.Unlock()
		return notFound(id)
	}
	next := *m
	q.mu.Unlock()
	change(&next)
	next.Updated = time.Now()
	if err := q.write(&next); err != nil {
		return err
	}
	q.mu.Lock()
	*m = next
	q.mu.Unlock()
	return q.forgetOldest()
}

// forgetOldest keeps the number of messages that are over within its bound.
func (q *Queue) forgetOldest() error {
	q.mu.Lock()
	var final []*Message
	for _, m := range q.messages {
		if m.Status.Final() && (m.Route == "" || m.Delivered) {
			final = append(final, m)
		}
	}
	q.mu.Unlock()
	for _, old := range final[:max(0, len(final)-keptFinal)] {
		if err := q.forget(old); err != nil {
			return err
		}
	}
	return nil
}

// Finish brings a message to its end, or changes one that is over, and tells.
func (q *Queue) Finish(id string, change func(*Message)) error {
	if err := q.Update(id, change); err != nil {
		return err
	}
	if q.onEnd == nil {
		return nil
	}
	m, err := q.Get(id)
	if err == nil {
		q.onEnd(m)
	}
	return err
}

// Expecting returns the messages of which more may become known, the oldest
// first.
func (q *Queue) Expecting(e Expect) []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var some []Message
	for _, m := range q.messages {
		if m.Status == conversation.Sent && m.Expect == e {
			some = append(some, *m)
		}
	}
	return some
}

// HandedAfter returns the id of a message that was handed over after another,
// "" for none.
func (q *Queue) HandedAfter(m Message) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, o := range q.messages {
		if o.ID != m.ID && o.Handed.After(m.Handed) {
			return o.ID
		}
	}
	return ""
}

// Answered notes that the turn is over which the taken messages began.
func (q *Queue) Answered() error {
	for _, m := range q.List() {
		if m.Status != conversation.Taken {
			continue
		}
		if err := q.Update(m.ID, func(m *Message) { m.Status = conversation.Answered }); err != nil {
			return err
		}
	}
	return nil
}

// SetReason notes what a message waits for; only in memory, as it passes.
func (q *Queue) SetReason(id, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.findLocked(id); m != nil {
		m.Reason = reason
	}
}

// Get returns a message by its id, also one that was Forgotten.
func (q *Queue) Get(id string) (Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.findLocked(id); m != nil {
		return *m, nil
	}
	if old, ok := q.past.find(id, time.Now()); ok {
		return old.message(), nil
	}
	return Message{}, notFound(id)
}

func notFound(id string) error { return fault.Errorf(fault.NotFound, "no message '%s'", id) }

func (q *Queue) findLocked(id string) *Message {
	for _, m := range q.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// List returns all that is kept, the oldest first.
func (q *Queue) List() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []Message
	for _, m := range q.messages {
		all = append(all, *m)
	}
	return all
}

// LastHanded returns when a message was last handed over, or zero.
func (q *Queue) LastHanded() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	last := q.handed
	for _, m := range q.messages {
		if m.Handed.After(last) {
			last = m.Handed
		}
	}
	return last
}

// Unanswered lists the messages whose turns have not ended, in the order in
// which they are to begin: those that were in flight when den or the agent
// ended, then the urgent ones, then the rest, the oldest first.
func (q *Queue) Unanswered() []Message {
	todo := slices.DeleteFunc(q.List(), func(m Message) bool {
		return m.Status == conversation.Answered || m.Status == conversation.Failed
	})
	slices.SortStableFunc(todo, func(a, b Message) int { return a.rank() - b.rank() })
	return todo
}

// rank orders messages; it is less for what goes first.
func (m Message) rank() int {
	switch {
	case m.Attempts > 0:
		return 0
	case m.Urgent:
		return 1
	}
	return 2
}

// Pending counts those that are not over.
func (q *Queue) Pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pendingLocked()
}

func (q *Queue) pendingLocked() int {
	count := 0
	for _, m := range q.messages {
		if !m.Status.Final() {
			count++
		}
	}
	return count
}

// Next returns the oldest that is not over.
func (q *Queue) Next() (Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		if !m.Status.Final() {
			return *m, true
		}
	}
	return Message{}, false
}
