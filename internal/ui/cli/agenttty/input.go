package agenttty

import (
	"os"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"github.com/spf13/pflag"
)

// maxFile bounds what --file may hold.
const maxFile = 10_000_000

func fileFlag(f *pflag.FlagSet) { f.String("file", "", "take the text from a file") }

// textOrFile returns the second word, or the content of --file: one of them.
func (c *call) textOrFile() (string, error) {
	file := c.str("file")
	switch {
	case len(c.args) > 1 && file != "", len(c.args) < 2 && file == "":
		return "", coded(invalidInput, "give either a text or --file")
	case file == "":
		return c.args[1], nil
	}
	fi, err := os.Lstat(file)
	switch {
	case err != nil:
		return "", coded(invalidInput, "--file: %v", err)
	case !fi.Mode().IsRegular() || fi.Size() == 0 || fi.Size() > maxFile:
		return "", coded(invalidInput, "--file: %s is not a regular file of 1 to %d bytes", file, maxFile)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", coded(invalidInput, "--file: %v", err)
	}
	return string(raw), nil
}

// seq is the answer of commands that only cause an event.
type seq struct {
	Seq uint64 `json:"seq"`
}

func sent(n uint64, err error) (outcome, error) { return outcome{result: seq{n}}, err }

func typeFlags(f *pflag.FlagSet) {
	fileFlag(f)
	f.Bool("append-newline", false, "press Enter afterwards")
}

func typeText(c *call, s *session.Session, text string) (outcome, error) {
	return sent(s.Input(c.ctx, wire.Input{Text: &text, Enter: c.bool("append-newline")}))
}

func paste(c *call, s *session.Session, text string) (outcome, error) {
	return sent(s.Input(c.ctx, wire.Input{Paste: &text}))
}

func runFlags(f *pflag.FlagSet) {
	fileFlag(f)
	f.Int("timeout", 30000, "how long to wait, in milliseconds")
	f.Bool("no-wait", false, "return at once")
}

// ran is the answer of run. Output and ExitCode are den's additions.
type ran struct {
	Accepted   bool    `json:"accepted"`
	Completed  *bool   `json:"completed,omitempty"`
	TimedOut   *bool   `json:"timedOut,omitempty"`
	Seq        uint64  `json:"seq"`
	DurationMS *int64  `json:"durationMs,omitempty"`
	Marker     string  `json:"marker,omitempty"`
	Output     *string `json:"output,omitempty"`
	ExitCode   *int    `json:"exitCode,omitempty"`
}

func run(c *call, s *session.Session, code string) (outcome, error) {
	if c.num("timeout") < 0 {
		return outcome{}, coded(invalidDuration, "--timeout must not be negative")
	}
	r, err := c.runCode(s, code, c.millis("timeout"), c.bool("no-wait"))
	if err != nil {
		return outcome{}, err
	}
	o := outcome{result: r}
	if r.Output != nil {
		o.text = *r.Output
	}
	return o, nil
}

func (c *call) runCode(s *session.Session, code string, timeout time.Duration, noWait bool) (ran, error) {
	if noWait {
		fired, err := s.Fire(c.ctx, code, 0)
		if err != nil {
			return ran{}, err
		}
		return ran{Accepted: true, Seq: startOf(s, fired.CellID)}, nil
	}
	r, err := s.Run(c.ctx, session.Run{Code: code, Timeout: timeout, KeepWaiting: true})
	if err != nil {
		return ran{}, err
	}
	if r.By == cell.ByRefusal {
		return ran{}, fault.Errorf(fault.Busy, "%s", r.Output)
	}
	completed := (r.Status == cell.Done || r.Status == cell.Unsure) && r.By != cell.ByExit
	timedOut := r.Status == cell.TimedOut
	return ran{
		Accepted: true, Completed: &completed, TimedOut: &timedOut, Seq: startOf(s, r.CellID), DurationMS: &r.DurationMS,
		Marker: r.CellID, Output: &r.Output, ExitCode: r.ExitCode,
	}, nil
}

// startOf returns the event with which a cell began, or 0.
func startOf(s *session.Session, id string) uint64 {
	rec, err := s.Cells().Load(id)
	if err != nil {
		return 0
	}
	return rec.StartSeq
}

func sendKeys(c *call, s *session.Session) (outcome, error) {
	chords, size, err := parseKeys(c.args[1:])
	if err != nil {
		return outcome{}, err
	}
	n, err := s.Input(c.ctx, wire.Input{Keys: chords})
	return outcome{result: struct {
		Accepted     []string `json:"accepted"`
		BytesWritten int      `json:"bytesWritten"`
		Seq          uint64   `json:"seq"`
	}{chords, size, n}}, err
}

// parseKeys checks chords, and counts their bytes for a terminal in its first
// modes.
func parseKeys(words []string) (chords []string, size int, err error) {
	for _, word := range words {
		word = strings.TrimSpace(word)
		chord, err := keys.Parse(word)
		if err != nil {
			return nil, 0, codedError{invalidKeys, err}
		}
		raw, err := chord.Encode(vt.Modes{})
		if err != nil {
			return nil, 0, codedError{invalidKeys, err}
		}
		chords, size = append(chords, word), size+len(raw)
	}
	return chords, size, nil
}

func mark(c *call, s *session.Session) (outcome, error) {
	return sent(s.Mark(c.ctx, c.args[1]))
}

func resizeFlags(f *pflag.FlagSet) {
	f.Int("cols", 0, "columns (required)")
	f.Int("rows", 0, "rows (required)")
}

func resize(c *call, s *session.Session) (outcome, error) {
	cols, rows := c.num("cols"), c.num("rows")
	if !c.given("cols") || !c.given("rows") {
		return outcome{}, coded(invalidDimensions, "both --cols and --rows are required")
	}
	if err := checkSize(cols, rows); err != nil {
		return outcome{}, err
	}
	if _, err := s.Resize(c.ctx, cols, rows); err != nil {
		return outcome{}, err
	}
	return outcome{result: struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}{cols, rows}}, nil
}

// signals are those that the original sends.
var signals = []string{"SIGTERM", "SIGINT", "SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2"}

func sendSignal(c *call, s *session.Session) (outcome, error) {
	name := c.args[1]
	if !slices.Contains(signals, name) {
		return outcome{}, coded(invalidSignal, "signal %q is not one of %s", name, strings.Join(signals, ", "))
	}
	if _, err := s.Signal(c.ctx, name); err != nil {
		return outcome{}, err
	}
	return outcome{result: struct {
		Signal    string `json:"signal"`
		Delivered bool   `json:"delivered"`
	}{name, true}}, nil
}
