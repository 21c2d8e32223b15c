package agenttty

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
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

func runBatch(c *call) (outcome, error) {
	s, plan, err := c.sessionAndText()
	if err != nil {
		return outcome{}, err
	}
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
