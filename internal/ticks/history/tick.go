package history

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
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
