package agenttty

import (
	"regexp"
	"strconv"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/session/wire"

	"github.com/spf13/pflag"
)

func waitFlags(f *pflag.FlagSet) {
	f.Bool("exit", false, "the program has ended")
	f.Int("idle-ms", 0, "no output for so long")
	f.String("text", "", "the screen shows this")
	f.String("regex", "", "the screen matches this")
	f.Int("screen-stable-ms", 0, "the screen has not changed for so long")
	f.Int("cursor-row", 0, "the cursor is in this row, from 0")
	f.Int("cursor-col", 0, "the cursor is in this column, from 0")
	f.Int("after-seq", 0, "only what came after this event counts")
	f.Int("timeout", 600000, "how long to wait, in milliseconds; 0: no limit")
}

// condition is what a wait of the command line, or a step, asks for.
type condition struct {
	Text           *string `json:"text"`
	Regex          *string `json:"regex"`
	ScreenStableMS *int    `json:"screenStableMs"`
	CursorRow      *int    `json:"cursorRow"`
	CursorCol      *int    `json:"cursorCol"`
	Timeout        *int    `json:"timeout"`
}

// waitDefault is the timeout of waits, in milliseconds.
const waitDefault = 600_000

// request returns den's own conditions, or why they are none.
func (w condition) request(after uint64) (wire.Wait, error) {
	req := wire.Wait{Text: w.Text, Regex: w.Regex, After: after, Timeout: waitDefault * time.Millisecond}
	for name, n := range map[string]*int{"stable": w.ScreenStableMS, "cursor row": w.CursorRow, "cursor column": w.CursorCol, "timeout": w.Timeout} {
		if n != nil && *n < 0 {
			return req, coded(invalidInput, "%s must not be negative", name)
		}
	}
	switch {
	case w.Text != nil && w.Regex != nil:
		return req, coded(invalidInput, "text and regex exclude each other")
	case w.Text != nil && (*w.Text == "" || len(*w.Text) > 1000):
		return req, coded(invalidInput, "text has 1 to 1000 characters")
	case w.Regex != nil && (*w.Regex == "" || len(*w.Regex) > 200):
		return req, coded(invalidInput, "regex has 1 to 200 characters")
	case w.Text == nil && w.Regex == nil && w.ScreenStableMS == nil && w.CursorRow == nil && w.CursorCol == nil && after == 0:
		return req, coded(invalidInput, "a wait needs a condition")
	}
	if w.Regex != nil {
		if _, err := regexp.Compile(*w.Regex); err != nil {
			return req, coded(invalidInput, "regex: %v", err)
		}
	}
	if w.ScreenStableMS != nil {
		req.Stable = time.Duration(*w.ScreenStableMS) * time.Millisecond
	}
	if w.Timeout != nil {
		req.Timeout = time.Duration(*w.Timeout) * time.Millisecond
	}
	if w.CursorRow != nil || w.CursorCol != nil {
		req.Cursor = &screen.Point{Row: screen.Anywhere, Col: screen.Anywhere}
		if w.CursorRow != nil {
			req.Cursor.Row = *w.CursorRow
		}
		if w.CursorCol != nil {
			req.Cursor.Col = *w.CursorCol
		}
	}
	return req, nil
}

// renderFlags are those that cannot be mixed with --exit and --idle-ms.
var renderFlags = []string{"text", "regex", "screen-stable-ms", "cursor-row", "cursor-col", "after-seq"}

func wait(c *call) (outcome, error) {
	s, err := c.session()
	if err != nil {
		return outcome{}, err
	}
	render := false
	for _, name := range renderFlags {
		render = render || c.given(name)
	}
	legacy := c.bool("exit") || c.given("idle-ms")
	switch {
	case legacy && render:
		return outcome{}, coded(invalidInput, "--exit and --idle-ms cannot be mixed with conditions on the screen")
	case c.num("timeout") < 0 || c.given("idle-ms") && c.num("idle-ms") <= 0:
		return outcome{}, coded(invalidDuration, "--timeout must not be negative, and --idle-ms must be positive")
	case !render && c.bool("exit") == c.given("idle-ms"):
		return outcome{}, coded(invalidDuration, "give exactly one of --exit and --idle-ms, or a condition on the screen")
	case render:
		return c.waitForScreen(s)
	}
	return c.waitForProgram(s)
}

// waitForProgram is a wait for the end of the program or its output.
func (c *call) waitForProgram(s *session.Session) (outcome, error) {
	req := wire.Wait{Exit: c.bool("exit"), Idle: c.millis("idle-ms"), Timeout: c.millis("timeout")}
	r, err := s.Wait(c.ctx, req)
	if err != nil {
		return outcome{}, err
	}
	if r.Status == wire.WaitEnded {
		return outcome{}, fault.Errorf(fault.NotRunning, "the session ended meanwhile")
	}
	o := outcome{result: struct {
		TimedOut bool `json:"timedOut"`
		ExitCode *int `json:"exitCode,omitempty"`
	}{!r.Matched, r.ExitCode}, text: "done"}
	return timedOut(o, !r.Matched), nil
}

func timedOut(o outcome, yes bool) outcome {
	if yes {
		o.text, o.status = "timed out", exitWaitTimeout
	}
	return o
}

type waited struct {
	Matched       bool   `json:"matched"`
	TimedOut      bool   `json:"timedOut"`
	MatchedText   string `json:"matchedText,omitempty"`
	CursorRow     *int   `json:"cursorRow,omitempty"`
	CursorCol     *int   `json:"cursorCol,omitempty"`
	CapturedAtSeq uint64 `json:"capturedAtSeq"`
	ScreenHash    string `json:"screenHash,omitempty"`
}

func (c *call) waitForScreen(s *session.Session) (outcome, error) {
	req, err := c.condition().request(uint64(max(c.num("after-seq"), 0)))
	if err != nil {
		return outcome{}, err
	}
	w, err := c.await(s, req)
	if err != nil {
		return outcome{}, err
	}
	return timedOut(outcome{result: w, text: "matched " + strconv.Quote(w.MatchedText)}, !w.Matched), nil
}

// await waits for a screen. A session that is over and does not show it is
// REPLAY_ERROR.
func (c *call) await(s *session.Session, req wire.Wait) (waited, error) {
	r, err := s.Wait(c.ctx, req)
	if err != nil {
		return waited{}, err
	}
	if r.Status == wire.WaitEnded {
		return waited{}, coded(replayError, "the session is over, and its last screen does not match: %v", r.Unmet)
	}
	w := waited{Matched: r.Matched, TimedOut: !r.Matched, CapturedAtSeq: r.Seq, ScreenHash: r.ScreenHash}
	if r.Matched {
		w.MatchedText = r.Text
	}
	if p := req.Cursor; p != nil && r.Matched {
		w.CursorRow, w.CursorCol = known(p.Row), known(p.Col)
	}
	return w, nil
}

func known(n int) *int {
	if n == screen.Anywhere {
		return nil
	}
	return &n
}

// condition returns what the flags ask for.
func (c *call) condition() condition {
	str := func(name string) *string {
		if v := c.str(name); c.given(name) {
			return &v
		}
		return nil
	}
	num := func(name string) *int {
		if v := c.num(name); c.given(name) {
			return &v
		}
		return nil
	}
	return condition{str("text"), str("regex"), num("screen-stable-ms"), num("cursor-row"), num("cursor-col"), num("timeout")}
}
