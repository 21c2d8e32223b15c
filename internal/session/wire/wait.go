package wire

import (
	"cmp"
	"reflect"
	"strings"
	"time"

	"den/internal/screen"
)

// Wait holds the conditions that must all be true of one screen.
type Wait struct {
	Text    *string       `json:"text,omitempty"`
	Regex   *string       `json:"regex,omitempty"`
	Gone    *string       `json:"gone,omitempty"`
	Cursor  *screen.Point `json:"cursor,omitempty"`
	Stable  time.Duration `json:"stable_ns,omitempty"`
	Idle    time.Duration `json:"idle_ns,omitempty"`
	Ready   bool          `json:"ready,omitempty"`
	Changed *string       `json:"changed,omitempty"` // a screen hash
	Exit    bool          `json:"exit,omitempty"`

	// After is the baseline: only a screen that shows output of a later event
	// counts, and Text and Regex match only what such an event wrote.
	After   uint64        `json:"after,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0: no end

	// ByCommand ends a wait for text when the command that could print it has
	// ended.
	ByCommand bool `json:"by_command,omitempty"`
}

// Conditions returns those that the screen alone decides.
func (w Wait) Conditions() screen.Conditions {
	return screen.Conditions{Text: w.Text, Regex: w.Regex, Gone: w.Gone, Changed: w.Changed, Cursor: w.Cursor, After: w.After}
}

// WaitResult says what a wait saw last.
type WaitResult struct {
	Status     string `json:"status"` // WaitMatched, WaitTimeout, WaitEnded, WaitCommandEnded or WaitUpgrade
	Matched    bool   `json:"matched"`
	Text       string `json:"text,omitempty"` // what matched --text or --regex
	Seq        uint64 `json:"seq"`
	ScreenHash string `json:"screen_hash"`
	ElapsedMS  int64  `json:"elapsed_ms"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	ExitSignal string `json:"exit_signal,omitempty"`

	// Unmet names the conditions that were false at the end, and LastLines is
	// the bottom of the screen then: what a caller needs to see why.
	Unmet     []string `json:"unmet,omitempty"`
	LastLines []string `json:"last_lines,omitempty"`
}

// What a session that is over cannot show, in Unmet.
const (
	UnprovenStable = "stable (a session that is over cannot prove it)"
	UnprovenIdle   = "idle (a session that is over cannot prove it)"
)

// The values of WaitResult.Status.
const (
	WaitMatched = "matched"
	WaitTimeout = "timeout"
	// WaitEnded: the session is over, so the condition can no longer come.
	WaitEnded = "ended"
	// WaitCommandEnded: the command that ran, or was fired before, has ended with
	// ExitCode, where its shell tells, and nothing else runs that could print.
	WaitCommandEnded = "command_ended"
	// WaitUpgrade never reaches a user: the host replaces its own binary, and
	// the client asks the new one for what is left of the wait.
	WaitUpgrade = "upgrade"
)

// Moment is a session at one time, for the conditions of a wait.
type Moment struct {
	Ended  bool                          // the program has: time and readiness prove nothing then
	Wrote  func(after uint64) bool       // whether the program did, after an event
	Screen func(unmet []string) []string // adds the conditions on the screen that do not hold
	// Whether nothing was written or typed, and whether the text has stood, for so
	// long. They are not called once it has ended.
	Idle, Stable func(time.Duration) bool
}

// A WaitCondition is one that a wait may have. holds is nil where Moment.Screen
// decides.
type WaitCondition struct {
	Name  string // in flags, in JSON and, with a capital, of its field of Wait
	Help  string // what holds then, for people
	asked func(Wait) bool
	holds func(Wait, Moment) bool
	unmet string // how Unmet names it, if not by its name
	past  string // and once the program has ended, if not so
}

// WaitConditions lists them all, in the order in which they are checked and named.
var WaitConditions = []WaitCondition{
	{Name: "exit", Help: "the program has ended", asked: func(w Wait) bool { return w.Exit }, holds: func(_ Wait, at Moment) bool { return at.Ended }},
	{
		Name: "after", Help: "match only what was written after event `SEQ`, and no echo of input", asked: func(w Wait) bool { return w.After > 0 },
		holds: func(w Wait, at Moment) bool { return w.Exit && at.Ended || at.Wrote(w.After) }, unmet: "output after the baseline",
	},
	{Name: "text", Help: "the screen shows `S`"},
	{Name: "regex", Help: "the screen matches the regular expression `R` (Go syntax)"},
	{Name: "gone", Help: "the screen does not show `S`"},
	{Name: "changed", Help: "the screen's hash is no longer `HASH`"},
	{Name: "cursor", Help: "the cursor is at `R,C`, row and column from 0"},
	{
		Name: "idle", Help: "no output and no input for this long", asked: func(w Wait) bool { return w.Idle > 0 },
		holds: func(w Wait, at Moment) bool { return !at.Ended && at.Idle(w.Idle) }, past: UnprovenIdle,
	},
	{
		Name: "stable", Help: "the visible text has not changed for this long", asked: func(w Wait) bool { return w.Stable > 0 },
		holds: func(w Wait, at Moment) bool { return !at.Ended && at.Stable(w.Stable) }, past: UnprovenStable,
	},
	// While the program runs, the host asks the kernel once all others hold.
	{
		Name: "ready", Help: "the program waits for input (Linux: known from the kernel)", asked: func(w Wait) bool { return w.Ready },
		holds: func(_ Wait, at Moment) bool { return !at.Ended },
	},
}

// In returns a pointer to the condition's field of w.
func (c WaitCondition) In(w *Wait) any {
	return reflect.ValueOf(w).Elem().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, c.Name) }).Addr().Interface()
}

// Unmet names the conditions that do not hold. The host asks for the present, and
// for a session that is over its last screen answers in the same way.
func (w Wait) Unmet(at Moment) (unmet []string) {
	screened := false
	for _, c := range WaitConditions {
		switch {
		case c.holds == nil && !screened:
			unmet, screened = at.Screen(unmet), true
		case c.holds == nil, !c.asked(w), c.holds(w, at):
		case at.Ended && c.past != "":
			unmet = append(unmet, c.past)
		default:
			unmet = append(unmet, cmp.Or(c.unmet, c.Name))
		}
	}
	return unmet
}
