package agenttty

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/session/wire"

	"github.com/spf13/pflag"
)

func batchFlags(f *pflag.FlagSet) {
	fileFlag(f)
	f.Bool("keep-going", false, "go on after a step that failed")
}

// step is one action; exactly one of the verbs is set.
type step struct {
	Type     *string    `json:"type"`
	Paste    *string    `json:"paste"`
	SendKeys []string   `json:"sendKeys"`
	Run      *string    `json:"run"`
	NoWait   bool       `json:"noWait"`
	Timeout  *int       `json:"timeout"` // of run, in milliseconds
	Wait     *condition `json:"wait"`
}

// stepRecord is what became of a step.
type stepRecord struct {
	Index      int        `json:"index"`
	DurationMS int64      `json:"durationMs"`
	Kind       string     `json:"kind"`
	Status     string     `json:"status"` // completed, failed, not-run or interrupted
	Error      *stepError `json:"error,omitempty"`

	Seq          *uint64 `json:"seq,omitempty"`
	NoWait       *bool   `json:"noWait,omitempty"`
	Completed    *bool   `json:"completed,omitempty"`
	RunOutcome   string  `json:"runOutcome,omitempty"` // started, completed, timedOut or sessionExited
	WaitBaseline *uint64 `json:"waitBaseline,omitempty"`
	Matched      *bool   `json:"matched,omitempty"`
	TimedOut     *bool   `json:"timedOut,omitempty"`
	MatchedText  string  `json:"matchedText,omitempty"`
	CapturedAt   *uint64 `json:"capturedAtSeq,omitempty"`
	ScreenHash   string  `json:"screenHash,omitempty"`
}

type stepError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type batchResult struct {
	Steps          []stepRecord `json:"steps"`
	CompletedCount int          `json:"completedCount"`
	FailedIndices  []int        `json:"failedIndices"`
}

func runBatch(c *call, s *session.Session, plan string) (outcome, error) {
	steps, err := parseSteps(plan)
	if err != nil {
		return outcome{}, err
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return outcome{}, err
	}
	if m.Status.Final() {
		return outcome{}, fault.Errorf(fault.NotRunning, "session %s is %s", m.ID, m.Ending())
	}
	b := &batch{call: c, session: s}
	return b.runAll(steps, c.bool("keep-going")), nil
}

// batch runs steps in one session.
type batch struct {
	*call
	session  *session.Session
	baseline *uint64 // the seq of the last input, or nil before the first
}

func (b *batch) runAll(steps []step, keepGoing bool) outcome {
	r := batchResult{Steps: []stepRecord{}, FailedIndices: []int{}}
	var text strings.Builder
	status := 0
	for i, s := range steps {
		rec := stepRecord{Index: i, Kind: s.kind(), Status: "not-run"}
		if b.ctx.Err() == nil && (len(r.FailedIndices) == 0 || keepGoing) {
			begun := time.Now()
			err := b.run(s, &rec)
			rec.DurationMS = time.Since(begun).Milliseconds()
			switch {
			case err == nil:
				rec.Status = "completed"
				r.CompletedCount++
			case b.ctx.Err() != nil:
				rec.Status = "interrupted"
			default:
				code := codeOf(err)
				rec.Status, rec.Error = "failed", &stepError{code, err.Error()}
				r.FailedIndices = append(r.FailedIndices, i)
				if status = exitOf(code); keepGoing {
					status = exitKeepGoingFailed
				}
			}
		}
		r.Steps = append(r.Steps, rec)
		fmt.Fprintf(&text, "%d  %s  %s\n", rec.Index, rec.Kind, rec.Status)
	}
	return outcome{result: r, text: text.String(), status: status}
}

func (b *batch) run(s step, rec *stepRecord) error {
	switch {
	case s.Wait != nil:
		return b.wait(s, rec)
	case s.Run != nil:
		return b.runCode(s, rec)
	}
	n, err := b.session.Input(b.ctx, wire.Input{Text: s.Type, Paste: s.Paste, Keys: s.SendKeys})
	if err != nil {
		return err
	}
	rec.Seq, b.baseline = &n, &n
	return nil
}

// runDefault is the timeout of a run, in milliseconds.
const runDefault = 30_000

func (b *batch) runCode(s step, rec *stepRecord) error {
	rec.NoWait = &s.NoWait
	limit := runDefault
	if s.Timeout != nil {
		limit = *s.Timeout
	}
	r, err := b.call.runCode(b.session, *s.Run, time.Duration(limit)*time.Millisecond, s.NoWait)
	if err != nil {
		return err
	}
	rec.Seq, b.baseline = &r.Seq, &r.Seq
	rec.Completed, rec.TimedOut, rec.RunOutcome = r.Completed, r.TimedOut, "started"
	switch {
	case s.NoWait:
		return nil
	case *r.TimedOut:
		rec.RunOutcome = "timedOut"
		return coded(waitTimeout, "the command did not complete within %d ms", limit)
	case !*r.Completed:
		rec.RunOutcome = "sessionExited"
		return fault.Errorf(fault.NotRunning, "the session ended before the command completed")
	}
	rec.RunOutcome = "completed"
	return nil
}

func (b *batch) wait(s step, rec *stepRecord) error {
	after := uint64(0)
	if rec.WaitBaseline = b.baseline; b.baseline != nil {
		after = *b.baseline
	}
	req, err := s.Wait.request(after)
	if err != nil {
		return err
	}
	w, err := b.await(b.session, req)
	if err != nil {
		return as(fault.NotRunning, sessionNotRunning, err)
	}
	rec.Matched, rec.TimedOut, rec.MatchedText, rec.ScreenHash = &w.Matched, &w.TimedOut, w.MatchedText, w.ScreenHash
	rec.CapturedAt = &w.CapturedAtSeq
	if !w.Matched {
		return coded(waitTimeout, "the condition did not come in time")
	}
	return nil
}

// parseSteps reads and checks a whole plan.
func parseSteps(plan string) ([]step, error) {
	var steps []step
	dec := json.NewDecoder(bytes.NewReader([]byte(plan)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&steps); err != nil || dec.More() {
		return nil, coded(invalidInput, "steps are not a JSON array of steps: %v", err)
	}
	if len(steps) == 0 {
		return nil, coded(invalidInput, "there are no steps")
	}
	for i, s := range steps {
		if err := s.check(); err != nil {
			return nil, codedError{codeOf(err), fmt.Errorf("step %d: %w", i, err)}
		}
	}
	return steps, nil
}

func (s step) verbs() []string {
	var set []string
	for name, given := range map[string]bool{"type": s.Type != nil, "paste": s.Paste != nil, "sendKeys": s.SendKeys != nil, "run": s.Run != nil, "wait": s.Wait != nil} {
		if given {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

func (s step) kind() string { return s.verbs()[0] }

func (s step) check() error {
	switch set := s.verbs(); {
	case len(set) != 1:
		return coded(invalidInput, "exactly one of type, paste, sendKeys, run and wait is needed")
	case s.Run == nil && (s.NoWait || s.Timeout != nil):
		return coded(invalidInput, "noWait and timeout belong to run")
	case s.SendKeys != nil && len(s.SendKeys) == 0:
		return coded(invalidKeys, "sendKeys is empty")
	case s.Timeout != nil && *s.Timeout < 0:
		return coded(invalidInput, "timeout must not be negative")
	}
	if s.Wait != nil {
		_, err := s.Wait.request(1) // a step before may give the baseline
		return err
	}
	_, _, err := parseKeys(s.SendKeys)
	return err
}

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

func wait(c *call, s *session.Session) (outcome, error) {
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
	text := "matched " + strconv.Quote(w.MatchedText)
	if !w.Matched {
		text = "the session is over: its last screen matches, and cannot show that it was stable"
	}
	return timedOut(outcome{result: w, text: text}, w.TimedOut), nil
}

// await waits for a screen. A session that is over and does not show it is
// REPLAY_ERROR. One that shows it, and of which it was asked to be stable, has
// neither matched nor timed out.
func (c *call) await(s *session.Session, req wire.Wait) (waited, error) {
	r, err := s.Wait(c.ctx, req)
	if err != nil {
		return waited{}, err
	}
	unproven := r.Status == wire.WaitEnded && slices.Equal(r.Unmet, []string{wire.UnprovenStable})
	if r.Status == wire.WaitEnded && !unproven {
		return waited{}, coded(replayError, "the session is over, and its last screen does not match: %v", r.Unmet)
	}
	w := waited{Matched: r.Matched, TimedOut: !r.Matched && !unproven, CapturedAtSeq: r.Seq}
	if !w.TimedOut {
		w.MatchedText, w.ScreenHash = r.Text, r.ScreenHash
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
