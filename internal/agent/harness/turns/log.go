package turns

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"

	"den/internal/base/journal"
	"den/internal/base/lazy"
	"den/internal/base/statefile"
	"den/internal/screen/render/redact"
)

const (
	fileName = "turns.jsonl"
	maxText  = 16 << 10 // bytes that are kept of one text
)

// limits bound the journal: eight megabytes, of the newest turns.
var limits = journal.Limits{Bytes: 2 << 20, Kept: 3}

func file(dir string) string { return filepath.Join(dir, fileName) }

// Log takes entries. Its methods may be called concurrently.
type Log struct {
	journal *journal.Journal

	mu  sync.Mutex // guards the field below, and the order of the lines
	seq uint64     // of the newest entry
}

// Open opens the log in a directory, which must be there. It goes on counting
// where an earlier one ended.
func Open(dir string) (*Log, error) {
	l := &Log{journal: journal.Open(file(dir), limits)}
	err := read(dir, func(e Entry) error {
		l.seq = max(l.seq, e.Seq)
		return nil
	})
	return l, err
}

// Add appends an entry, with the next number. Long texts are cut, and secrets
// hidden.
func (l *Log) Add(e Entry) error {
	var cutText, cutInput bool
	e.Text, cutText = shown(e.Text)
	e.Input, cutInput = shown(e.Input)
	e.Cut = e.Cut || cutText || cutInput
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.V, e.Seq, e.At = version, l.seq, e.At.UTC()
	return l.journal.Append(e)
}

// secrets hides tokens, as those who show screens do by default.
var secrets = lazy.Value[*redact.Redactor]{Make: func() *redact.Redactor {
	r, err := redact.New(nil, true)
	if err != nil {
		panic(err) // there are no expressions
	}
	return r
}}

// shown is what is kept of a text.
func shown(text string) (kept string, cut bool) {
	text = secrets.Get().Text(text)
	if len(text) <= maxText {
		return text, false
	}
	return strings.ToValidUTF8(text[:maxText], ""), true
}

// State differs when something was added; "" where nothing was yet.
func State(dir string) (string, error) { return journal.State(file(dir)) }

// Page is a part of a log, the oldest entry first.
type Page struct {
	Entries []Entry `json:"entries"`
	More    bool    `json:"more,omitempty"` // there are earlier ones
}

// Read returns the newest entries before a number, 0 for all, and after another.
func Read(dir string, after, before uint64, most int) (Page, error) {
	p := Page{Entries: []Entry{}}
	err := read(dir, func(e Entry) error {
		if e.Seq <= after || before > 0 && e.Seq >= before {
			return nil
		}
		p.Entries = append(p.Entries, e)
		if len(p.Entries) > 2*most { // not at every one: it copies
			p.trim(most)
		}
		return nil
	})
	p.trim(most)
	return p, err
}

// trim leaves the newest entries.
func (p *Page) trim(most int) {
	if over := len(p.Entries) - most; over > 0 {
		p.Entries, p.More = append([]Entry{}, p.Entries[over:]...), true
	}
}

// read calls each with the entries of a log. Lines that are damaged are skipped,
// as a crash may leave one; those of a newer den are an error.
func read(dir string, each func(Entry) error) error {
	return journal.Read(file(dir), limits, func(line []byte) error {
		var e Entry
		if json.Unmarshal(line, &e) != nil {
			return nil
		}
		if err := statefile.Check(file(dir), e.V, version); err != nil {
			return err
		}
		return each(e)
	})
}
