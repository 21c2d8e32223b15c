package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

const (
	// searchStretch is how much of a log one search reads: whole segments, the
	// newest first, as many as fit, and one at least.
	searchStretch = eventlog.DefaultSegmentBytes
	maxHits       = 200 // of a stretch; the newest stay
	maxWords      = 200 // bytes that are searched for
	maxHitLine    = 240 // bytes of a line that are told

	// The screen is looked at after so much output, when so much time has passed,
	// and before it is erased. What scrolls by in between is found in the
	// scrollback.
	lookBytes = 1 << 10
	lookTime  = 50 * time.Millisecond
)

// A Hit is a line with the words that came to be shown.
type Hit struct {
	eventlog.Position
	Line string `json:"line"`
}

// Found is what a search found in a stretch of a log.
type Found struct {
	Hits []Hit             `json:"hits"` // in the order of time
	From eventlog.Position `json:"from"` // the log was read from here on
	More bool              `json:"more,omitempty"`
	// Dropped is the number of hits beyond the limit.
	Dropped int `json:"dropped,omitempty"`
	// Missing describes the parts of the stretch that could not be read.
	Missing []string `json:"missing,omitempty"`
}

// Search finds the moments at which a line with the words, in any case, came to
// be on the screen: as the terminal drew it, so neither colours nor cursor
// movements hide it. It reads one stretch of the log, the last that begins
// before event number before; 0 is its end. While [Found.More], the next call
// has [Found.From].Seq+1 for before.
//
// The cost is that of reading and emulating the stretch: at most 16 MiB, or one
// segment, whatever the log's length. One search runs at a time, and it shares
// the budget of those who look on.
func (m *Model) Search(ctx context.Context, rec Recording, words string, before uint64) (*Found, error) {
	words = strings.TrimSpace(words)
	if utf8.RuneCountInString(words) < 2 || len(words) > maxWords {
		return nil, fault.Errorf(fault.Usage, "a search is for 2 characters at least, and %d bytes at most", maxWords)
	}
	before = cmp.Or(before, math.MaxUint64)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.search:
	}
	defer func() { m.search <- struct{}{} }()
	log, err := rec.open()
	if err != nil {
		return nil, err
	}
	segments, err := log.Segments()
	if err != nil {
		return nil, err
	}
	first := stretch(segments, before)
	if first < 0 {
		return &Found{Hits: []Hit{}}, nil
	}
	r, err := replay.At(log, replay.Seq(segments[first].Seq))
	if err != nil {
		return nil, err
	}
	s := &searcher{words: bytes.ToLower([]byte(words)), term: r.Terminal, pace: pace{budget: &m.budget}}
	s.found = Found{Hits: []Hit{}, From: eventlog.Position{Seq: segments[first].Seq, Elapsed: segments[first].Elapsed}, More: first > 0}
	if err := s.run(ctx, log, before); err != nil {
		return nil, err
	}
	return &s.found, nil
}

// stretch returns the first of the segments to search, or -1 for none.
func stretch(segments []eventlog.Segment, before uint64) int {
	first, size := -1, int64(0)
	for i := len(segments) - 1; i >= 0; i-- {
		if segments[i].Seq+1 >= before {
			continue
		}
		if size += segments[i].Size; first >= 0 && size > searchStretch {
			break
		}
		first = i
	}
	return first
}

// searcher emulates a stretch, and looks at the screen on the way.
type searcher struct {
	words []byte // in lower case
	term  *vt.Terminal
	pace  pace
	found Found

	at      eventlog.Position // of the last event
	pending int               // bytes since the last look
	since   time.Duration     // of the first of them
	shown   map[string]bool   // lines with the words that were on the screen at the last look
	top     int64             // the line at the top of the main screen then
}

func (s *searcher) run(ctx context.Context, log *eventlog.Log, before uint64) error {
	s.at = s.found.From
	s.look(true) // what is there already was found by the stretch before
	for ev, err := range log.Events(s.found.From.Seq) {
		switch {
		case eventlog.Missing(err):
			if len(s.found.Missing) < maxMissing {
				s.found.Missing = append(s.found.Missing, err.Error())
			}
			continue
		case err != nil:
			return err
		case ev.Seq >= before:
			s.look(false)
			return nil
		}
		s.apply(ev)
		if pause, _ := s.pace.end(len(ev.Data), 0, time.Now()); poll.Pause(ctx, pause) != nil {
			return ctx.Err()
		}
	}
	s.look(false)
	return nil
}

func (s *searcher) apply(ev eventlog.Event) {
	out, ok := ev.Output()
	if s.pending > 0 && (ev.Time-s.since > lookTime || erases(out)) {
		s.look(false)
	}
	s.at = eventlog.Position{Seq: ev.Seq, Elapsed: ev.Time}
	if ok {
		if s.pending == 0 {
			s.since = ev.Time
		}
		s.pending += len(out)
	}
	replay.Apply(s.term, ev)
	if s.pending >= lookBytes {
		s.look(false)
	}
}

// erases reports whether output has a sequence that erases much of a screen, or
// goes to another one.
func erases(out []byte) bool {
	for {
		at := bytes.IndexByte(out, 0x1b)
		if at < 0 {
			return false
		}
		out = out[at+1:]
		seq := out[:min(len(out), 7)]
		if bytes.HasPrefix(seq, []byte("c")) || bytes.HasPrefix(seq, []byte("[?1049")) || bytes.HasPrefix(seq, []byte("[?47")) {
			return true
		}
		if end := bytes.IndexFunc(seq, unicode.IsLetter); end > 0 && seq[0] == '[' && seq[end] == 'J' {
			return true
		}
	}
}

// look notes the lines with the words that were not there at the last look.
// With quiet nothing is a hit.
func (s *searcher) look(quiet bool) {
	s.pending = 0
	_, rows := s.term.Size()
	now := map[string]bool{}
	top, from := s.term.ScreenLine(), 0
	if !s.term.Modes().AltScreen {
		if !quiet {
			from = int(max(min(s.top, top), s.term.FirstLine()) - top) // what has scrolled off since
		}
		s.top = top
	}
	for y := from; y < rows; {
		line, next := s.line(y, rows)
		if bytes.Contains(bytes.ToLower(line), s.words) {
			text := string(line)
			if !quiet && !s.shown[text] && !now[text] {
				s.hit(line)
			}
			now[text] = true
		}
		y = next
	}
	s.shown = now
}

// line returns a line with what the terminal wrapped of it, and the row after it.
func (s *searcher) line(y, rows int) (text []byte, next int) {
	for ; y < rows; y++ {
		row := s.term.Row(y)
		text = row.AppendText(text)
		if !row.Wrapped() {
			return text, y + 1
		}
	}
	return text, y
}

func (s *searcher) hit(line []byte) {
	if len(s.found.Hits) == maxHits {
		s.found.Hits = append(s.found.Hits[:0], s.found.Hits[maxHits/10:]...)
		s.found.Dropped += maxHits / 10
	}
	s.found.Hits = append(s.found.Hits, Hit{s.at, around(line, s.words)})
}

// around cuts a long line so that the words are in what stays.
func around(line, words []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) <= maxHitLine {
		return string(line)
	}
	at := max(0, bytes.Index(bytes.ToLower(line), words))
	from := max(0, min(at-maxHitLine/4, len(line)-maxHitLine))
	text := strings.ToValidUTF8(string(line[from:min(len(line), from+maxHitLine)]), "")
	if from > 0 {
		text = "… " + text
	}
	if from+maxHitLine < len(line) {
		text += " …"
	}
	return text
}
