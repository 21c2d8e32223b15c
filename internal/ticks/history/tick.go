package history

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/statefile"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
)

// Version is that of an index.
const Version = 1

const (
	maxIndex     = 1 << 20 // bytes that are read
	maxText      = 500     // characters of a reason, and of the agent's last words
	maxTerminals = 1000    // of one tick; of more the oldest stay
)

// Tick is what belongs to a tick.
type Tick struct {
	V      int       `json:"v"`
	Number int       `json:"tick"`
	Began  time.Time `json:"began,omitzero"` // zero only where no index was written
	// Ended is zero while the tick runs. It stays zero where its process was
	// killed: nobody knows when that was.
	Ended time.Time `json:"ended,omitzero"`
	// Seen is when a tick without an end was last known to live.
	Seen time.Time `json:"last_seen,omitzero"`
	// Completed is when another process did what was left of a tick that was
	// killed.
	Completed time.Time `json:"completed,omitzero"`

	Runner  string       `json:"runner,omitempty"`
	Model   string       `json:"model,omitempty"`
	Causes  []plan.Cause `json:"causes,omitempty"`
	Outcome plan.Outcome `json:"outcome,omitzero"` // without a reason: it is not known
	Turns   int          `json:"turns"`
	CostUSD float64      `json:"cost_usd,omitempty"` // 0: the backend does not tell
	Context plan.Context `json:"context,omitzero"`
	Last    string       `json:"last,omitempty"` // words of the agent; clipped

	Transcript string     `json:"transcript,omitempty"` // below the data repository; or "": there is none
	Terminals  []Terminal `json:"terminals,omitempty"`  // in the order in which they were opened

	// Reconstructed says that no index was written: this is what the transcript and the
	// archives tell.
	Reconstructed bool `json:"reconstructed,omitempty"`
}

// Terminal is one that was open in a tick.
type Terminal struct {
	// Name is the terminal's number. Further ones of the same number in one tick
	// are N-1, N-2.
	Name    string    `json:"name"`
	Number  int       `json:"tty"`
	Command string    `json:"command"`
	Label   string    `json:"label,omitempty"`
	Session string    `json:"session,omitempty"` // den's id of it
	Opened  time.Time `json:"opened,omitzero"`
	// Closed is zero while it is open, and where nobody saw it close.
	Closed time.Time `json:"closed,omitzero"`
	Status string    `json:"status,omitempty"` // how its program ended: "exited (0)", "lost"

	Archive   string `json:"archive,omitempty"`   // below the data repository; "" while it is open
	Recording string `json:"recording,omitempty"` // the same; "" while it is open, and where there is none
	Note      string `json:"note,omitempty"`      // what could not be kept
}

// Until is the end of the tick as far as it is known, and whether that is the
// real one. A tick that runs has none: its last sign of life is returned.
func (t *Tick) Until() (at time.Time, known bool) {
	if !t.Ended.IsZero() {
		return t.Ended, true
	}
	if t.Seen.Before(t.Began) {
		return t.Began, false
	}
	return t.Seen, false
}

// Terminal finds a terminal by its name.
func (t *Tick) Terminal(name string) (Terminal, error) {
	var names []string
	for _, one := range t.Terminals {
		if one.Name == name {
			return one, nil
		}
		names = append(names, fmt.Sprintf("%s (%s)", one.Name, one.Command))
	}
	err := fault.Errorf(fault.NotFound, "tick %d has no terminal '%s'", t.Number, name)
	if len(names) == 0 {
		return Terminal{}, fault.Hintf(err, "no terminal was opened in it")
	}
	return Terminal{}, fault.Hintf(err, "it has %s", strings.Join(names, ", "))
}

// put adds a terminal, or takes the place of the one of the same session.
func (t *Tick) put(one Terminal) {
	for i, known := range t.Terminals {
		if known.Session != "" && known.Session == one.Session {
			one.Name = known.Name
			t.Terminals[i] = one
			return
		}
	}
	if len(t.Terminals) >= maxTerminals {
		return
	}
	one.Name = t.nextName(one.Number)
	t.Terminals = append(t.Terminals, one)
}

func (t *Tick) nextName(number int) string {
	again := 0
	for _, known := range t.Terminals {
		if known.Number == number {
			again++
		}
	}
	return terminalName(number, again)
}

func terminalName(number, again int) string {
	if again == 0 {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%d-%d", number, again)
}

// encode is the index as it is written.
func (t Tick) encode() ([]byte, error) {
	t.V = Version
	t.Last = clip(t.Last)
	causes := t.Causes
	t.Causes = nil
	for _, c := range causes {
		c.Reason = clip(c.Reason)
		t.Causes = append(t.Causes, c)
	}
	data, err := json.MarshalIndent(t, "", "  ")
	return append(data, '\n'), err
}

// decode reads an index. What it says is not believed where it would lead out
// of the logs.
func decode(data []byte, number int) (Tick, error) {
	t, err := statefile.Decode[Tick](fmt.Sprintf("the index of tick %d", number), data, Version)
	if err != nil {
		return Tick{}, err
	}
	if t.V < 1 || t.Number != number || t.Began.IsZero() {
		return Tick{}, fault.Errorf(fault.Storage, "read the index of tick %d: it is none: tick %d, version %d", number, t.Number, t.V)
	}
	t.Reconstructed = false
	t.Transcript = below(datarepo.Logs, t.Transcript)
	t.Terminals = t.Terminals[:min(len(t.Terminals), maxTerminals)]
	for i := range t.Terminals {
		one := &t.Terminals[i]
		one.Archive, one.Recording = below(datarepo.SessionLogs, one.Archive), below(datarepo.SessionLogs, one.Recording)
	}
	t.rename()
	return t, nil
}

// rename gives terminals their names: a file that somebody has changed must not
// have two of one name.
func (t *Tick) rename() {
	seen := map[int]int{}
	for i := range t.Terminals {
		n := t.Terminals[i].Number
		t.Terminals[i].Name = terminalName(n, seen[n])
		seen[n]++
	}
}

// below is a name if it is one below a directory, else "".
func below(dir, name string) string {
	if !fs.ValidPath(name) || !strings.HasPrefix(name, dir+"/") {
		return ""
	}
	return name
}

// clip bounds a text that others wrote.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText]) + "…"
}

// Writer writes the index of one tick. It is safe for concurrent use.
type Writer struct {
	repo *datarepo.Repo

	mu     sync.Mutex // guards the fields below
	tick   Tick
	loaded bool // what an earlier process wrote of the tick is in it
}

// NewWriter returns the writer of a tick. Of t, what is known when the tick
// begins is used. If the index is there already, because the process of the
// tick was killed, it is continued. Nothing is read or written yet.
func NewWriter(repo *datarepo.Repo, t Tick) *Writer { return &Writer{repo: repo, tick: t} }

// Begin writes that the tick has begun.
func (w *Writer) Begin() error {
	return w.edit(w.repo.Write, func(*Tick) {})
}

// Terminal notes that a terminal was opened, or archived.
func (w *Writer) Terminal(one Terminal) error {
	return w.edit(w.repo.Replace, func(t *Tick) { t.put(one) })
}

// End writes how the tick ended, which is now. seen is zero, or when a tick whose
// process was killed was last known to live: then now is not its end.
func (w *Writer) End(s plan.State, now, seen time.Time) error {
	return w.edit(w.repo.Write, func(t *Tick) {
		t.Outcome, t.Turns, t.CostUSD, t.Context, t.Last = s.Outcome, s.Turns, s.CostUSD, s.Context, s.LastText
		switch {
		case seen.IsZero():
			t.Ended = now
		case t.Ended.IsZero(): // else it was written down before the kill
			t.Seen, t.Completed = seen, now
		}
	})
}

func (w *Writer) edit(write func(string, []byte) error, change func(*Tick)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loadLocked()
	change(&w.tick)
	data, err := w.tick.encode()
	if err == nil {
		err = write(datarepo.TickIndex(w.tick.Number), data)
	}
	if err != nil {
		return fmt.Errorf("write the index of tick %d: %w", w.tick.Number, err)
	}
	return nil
}

// loadLocked takes over what was written of this tick. An index that cannot be
// read, or is of another tick of the same number, is written over: the terminals
// that it had are found by their archives.
func (w *Writer) loadLocked() {
	if w.loaded {
		return
	}
	w.loaded = true
	if known, err := load(w.repo, w.tick.Number); err == nil && known.Began.Equal(w.tick.Began) {
		w.tick = known
	}
}

// Amend notes a terminal in the index of a tick that is over. Without an index
// that can be read there is nothing to amend: the archive is found by its name.
func Amend(repo *datarepo.Repo, number int, one Terminal) error {
	t, err := load(repo, number)
	if kind := fault.KindOf(err); kind == fault.Protocol || kind == fault.Denied {
		return err
	}
	if err != nil {
		return nil
	}
	w := Writer{repo: repo, tick: t, loaded: true}
	return w.Terminal(one)
}

// load reads an index as it was written.
func load(repo *datarepo.Repo, number int) (Tick, error) {
	data, _, err := repo.Read(datarepo.TickIndex(number), maxIndex)
	if err != nil {
		return Tick{}, err
	}
	return decode(data, number)
}
