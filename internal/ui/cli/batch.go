package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

func (a *app) batchCmd() *cobra.Command {
	var keepGoing bool
	cmd := a.onWord(&cobra.Command{
		Use:   "batch [SESSION] [FILE|-|JSON]",
		Short: "Run several steps in one session",
		Long: `Run several steps in one session, in order. Steps are a JSON array, or one object per
line:

  {"type":"text","enter":true}   {"paste":"text"}   {"keys":["Esc",":","w","Enter"]}
  {"run":"make test","timeout":"5m"}   {"answer":"yes"}   {"answer":{"keys":["Down","Enter"]}}
  {"wait":{"text":"ok","stable":"300ms","timeout":"10s"}}   (text regex gone cursor changed stable idle ready exit)
  {"snapshot":{"scrollback":20}}

All steps are checked before the first is sent. A wait sees only what comes after the
last input step. The first step that fails ends the batch, unless --keep-going is given;
what was sent is not undone. A question is not a failure if the next step is an
answer. One record is printed for each step; after Ctrl-C, the records so far.`,
		Example: `  den batch work '[{"type":"ls","enter":true},{"wait":{"ready":true}},{"snapshot":{}}]'` + "\n  den batch work steps.json --keep-going",
		Args:    args(0, 2),
	}, a.batchTarget, func(ctx context.Context, s *session.Session, steps string) error {
		return a.runBatch(ctx, s, steps, keepGoing)
	})
	cmd.Flags().BoolVar(&keepGoing, "keep-going", false, "continue after a failed step")
	return cmd
}

// stepRecord is what became of a step.
type stepRecord struct {
	Index      int              `json:"index"`
	Kind       string           `json:"kind"`
	Status     string           `json:"status"` // completed, failed, interrupted or not-run
	DurationMS int64            `json:"duration_ms"`
	Seq        uint64           `json:"seq,omitempty"`
	Baseline   uint64           `json:"baseline,omitempty"`
	Wait       *wire.WaitResult `json:"wait,omitempty"`
	Cell       *cell.Result     `json:"cell,omitempty"`
	Snapshot   *snapshotAnswer  `json:"snapshot,omitempty"`
	Error      *fault.Object    `json:"error,omitempty"`
}

// batchTarget splits the words of batch. Steps without a session are for the
// implied one.
func (a *app) batchTarget(_ context.Context, args []string) (*session.Session, string, error) {
	if len(args) == 1 && isSteps(args[0]) {
		s, err := a.target("")
		return s, args[0], err
	}
	s, rest, err := a.leadingTarget(args, func(string) bool { return len(args) == 1 })
	return s, append(rest, "")[0], err
}

func (a *app) runBatch(ctx context.Context, s *session.Session, arg string, keepGoing bool) error {
	raw, err := a.readSteps(ctx, arg)
	if err != nil {
		return err
	}
	steps, err := parseSteps(raw)
	if err != nil {
		return err
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	b := &batch{app: a, session: s, name: m.Name}
	records, failed := b.runAll(ctx, steps, keepGoing)
	done := 0
	for _, r := range records {
		if r.Status == "completed" {
			done++
		}
		if !a.json {
			b.printStep(r)
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"steps": records, "completed": done}); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed != nil {
		return reported{failed}
	}
	return nil
}

// readSteps returns the steps of a batch: a word, a file, or stdin.
func (a *app) readSteps(ctx context.Context, arg string) ([]byte, error) {
	switch {
	case arg == "" || arg == "-":
		return a.readStdin(ctx, rpc.MaxRequest)
	case isSteps(arg):
		return []byte(arg), nil
	}
	raw, err := os.ReadFile(arg)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "read steps: %w", err)
	}
	return raw, nil
}

// batch runs steps in one session.
type batch struct {
	*app
	session  *session.Session
	name     string
	baseline uint64 // the seq of the last input step
	asked    string // what the last cell asked, and nobody has answered; or ""
}

// runAll runs the steps and returns a record for each, and the first failure.
func (b *batch) runAll(ctx context.Context, steps []step, keepGoing bool) ([]stepRecord, error) {
	var failed error
	records := make([]stepRecord, len(steps))
	for i, s := range steps {
		r := &records[i]
		r.Index, r.Kind, r.Status = i, s.kind(), "not-run"
		if ctx.Err() != nil || failed != nil && !keepGoing {
			continue
		}
		begun := time.Now()
		err := b.run(ctx, s, r)
		if fault.KindOf(err) == fault.Waiting && i+1 < len(steps) && steps[i+1].Answer != nil {
			err = nil // the next step answers it
		}
		r.DurationMS = time.Since(begun).Milliseconds()
		switch {
		case err == nil:
			r.Status = "completed"
		case ctx.Err() != nil:
			r.Status = "interrupted"
		default:
			r.Status = "failed"
			object := fault.ObjectOf(err)
			r.Error = &object
			if failed == nil {
				failed = err
			}
		}
	}
	return records, failed
}

func (b *batch) run(ctx context.Context, s step, r *stepRecord) error {
	switch {
	case s.Wait != nil:
		return b.wait(ctx, s.Wait, r)
	case s.Snapshot != nil:
		shot, err := b.session.Snapshot(ctx, session.Now(), s.Snapshot.Scrollback)
		if err != nil {
			return err
		}
		ans := answerFor(b.name, shot, "text")
		r.Snapshot, r.Seq = &ans, shot.Seq
		return nil
	case s.Run != nil, s.Answer != nil:
		return b.cell(ctx, s, r)
	}
	in := wire.Input{Text: s.Type, Enter: s.Enter, Paste: s.Paste, Keys: s.Keys}
	seq, err := b.session.Input(ctx, in)
	if err != nil {
		return err
	}
	r.Seq, b.baseline, b.asked = seq, seq, ""
	return nil
}

func (b *batch) wait(ctx context.Context, w *waitStep, r *stepRecord) error {
	req, err := w.request(b.baseline)
	if err != nil {
		return err
	}
	r.Baseline = b.baseline
	r.Wait, err = b.session.Wait(ctx, req)
	switch {
	case err != nil:
		return err
	case r.Wait.Status == wire.WaitEnded:
		return fault.Errorf(fault.NotRunning, "the session is over and the condition did not come: %v", r.Wait.Unmet)
	case r.Wait.Status == wire.WaitCommandEnded:
		return fault.Errorf(fault.Timeout, "the command has ended%s and the condition did not come: %v", withStatus(r.Wait.ExitCode), r.Wait.Unmet)
	case !r.Wait.Matched:
		return fault.Errorf(fault.Timeout, "the condition did not come: %v", r.Wait.Unmet)
	}
	r.Seq = r.Wait.Seq
	return nil
}

func (b *batch) cell(ctx context.Context, s step, r *stepRecord) error {
	limit := 30 * time.Second
	if s.Timeout != nil {
		limit = time.Duration(*s.Timeout)
	}
	var res cell.Result
	var err error
	if s.Answer != nil {
		res, err = b.session.Answer(ctx, s.Answer.input(), session.Run{Timeout: limit, Question: b.asked})
	} else {
		res, err = b.session.Run(ctx, session.Run{Code: *s.Run, Timeout: limit})
	}
	if err != nil {
		return err
	}
	r.Cell = &res
	b.asked = res.Question
	if rec, err := b.session.Cells().Load(res.CellID); err == nil {
		r.Seq, b.baseline = rec.StartSeq, rec.StartSeq
	}
	return cellError(res)
}

// printStep is one step for people.
func (b *batch) printStep(r stepRecord) {
	fmt.Fprintf(b.text, "%d\t%s\t%s\t%d ms\n", r.Index, r.Kind, r.Status, r.DurationMS)
	switch {
	case r.Error != nil:
		fmt.Fprintf(b.stderr, "den: step %d: %s\n", r.Index, r.Error.Output)
	case r.Snapshot != nil:
		fmt.Fprintln(b.text, *r.Snapshot.Text)
	case r.Cell != nil && r.Cell.Output != "":
		fmt.Fprintln(b.text, r.Cell.Output)
	}
}

// step is one action; exactly one of the verbs is set.
type step struct {
	Type     *string       `json:"type"`
	Enter    bool          `json:"enter"`
	Paste    *string       `json:"paste"`
	Keys     []string      `json:"keys"`
	Run      *string       `json:"run"`
	Answer   *answerStep   `json:"answer"`
	Timeout  *jsonDuration `json:"timeout"` // of run and answer
	Wait     *waitStep     `json:"wait"`
	Snapshot *struct {
		Scrollback int `json:"scrollback"`
	} `json:"snapshot"`
}

// answerStep is an answer to what a cell asks: a text, or an object with keys.
type answerStep struct {
	Text *string  `json:"-"`
	Keys []string `json:"keys"`
}

// UnmarshalJSON reads "text" or {"keys":["Down","Enter"]}.
func (s *answerStep) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, &s.Text)
	}
	type plain answerStep // without this method
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*plain)(s)); err != nil {
		return err
	}
	if len(s.Keys) == 0 {
		return errors.New("'answer' is a text or has keys")
	}
	return nil
}

func (s *answerStep) input() wire.Input {
	if s.Text != nil {
		return wire.Input{Text: s.Text, Enter: true}
	}
	return wire.Input{Keys: s.Keys}
}

// waitStep is the conditions of a wait.
type waitStep struct {
	Text    *string       `json:"text"`
	Regex   *string       `json:"regex"`
	Gone    *string       `json:"gone"`
	Cursor  *string       `json:"cursor"`
	Changed *string       `json:"changed"`
	Stable  jsonDuration  `json:"stable"`
	Idle    jsonDuration  `json:"idle"`
	Ready   bool          `json:"ready"`
	Exit    bool          `json:"exit"`
	Timeout *jsonDuration `json:"timeout"`
}

// jsonDuration is a duration as flags take it, or a number of seconds.
type jsonDuration time.Duration

// UnmarshalJSON reads "300ms", "5" or 5.
func (d *jsonDuration) UnmarshalJSON(raw []byte) error {
	return (*duration)(d).Set(string(bytes.Trim(raw, `"`)))
}

func parseSteps(raw []byte) ([]step, error) {
	var steps []step
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	array := bytes.HasPrefix(bytes.TrimSpace(raw), []byte("["))
	if array {
		if _, err := dec.Token(); err != nil { // the bracket, which is there
			return nil, fault.Errorf(fault.Usage, "steps are not understood: %w", err)
		}
	}
	for dec.More() {
		var s step
		if err := dec.Decode(&s); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d is not understood: %w", len(steps), plainJSON(err))
		}
		steps = append(steps, s)
	}
	if err := endOfSteps(dec, array); err != nil {
		return nil, fault.Errorf(fault.Usage, "behind step %d: %w", len(steps)-1, err)
	}
	if len(steps) == 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "there are no steps"), "for example '[{\"run\":\"make\"},{\"snapshot\":{}}]'")
	}
	for i := range steps {
		if err := steps[i].check(); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d: %w", i, err)
		}
	}
	return steps, nil
}

// endOfSteps returns an error if anything follows: it would be ignored.
func endOfSteps(dec *json.Decoder, array bool) error {
	if array {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return errors.New("the array is not closed")
		} else if err != nil {
			return err
		}
	}
	var more json.RawMessage
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%.20s is not a part of the steps", more)
}

// plainJSON rephrases an error of Go's JSON decoder for users.
func plainJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is a %s, not an object", wrong.Value)
	}
	return fmt.Errorf("'%s' cannot be a %s", wrong.Field, wrong.Value)
}

// kind names the step's verb.
func (s step) kind() string {
	for name, set := range s.verbs() {
		if set {
			return name
		}
	}
	return ""
}

func (s step) verbs() map[string]bool {
	return map[string]bool{
		"type": s.Type != nil, "paste": s.Paste != nil, "keys": len(s.Keys) > 0,
		"run": s.Run != nil, "answer": s.Answer != nil, "wait": s.Wait != nil, "snapshot": s.Snapshot != nil,
	}
}

// check validates the step before anything is sent.
func (s *step) check() (err error) {
	n := 0
	for _, set := range s.verbs() {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("exactly one of type, paste, keys, run, answer, wait and snapshot is needed")
	}
	if err := s.checkExtras(); err != nil {
		return err
	}
	chords := s.Keys
	if s.Answer != nil {
		chords = s.Answer.Keys
	}
	for _, k := range chords {
		if _, err := keys.Parse(k); err != nil {
			return err
		}
	}
	switch {
	case s.Wait != nil:
		_, err = s.Wait.request(0)
	case s.Run != nil:
		*s.Run, err = session.Typable(*s.Run)
	}
	return err
}

// checkExtras returns an error for fields of another kind of step.
func (s *step) checkExtras() error {
	switch {
	case s.Enter && s.Type == nil:
		return errors.New("'enter' belongs to type")
	case s.Timeout != nil && s.Run == nil && s.Answer == nil:
		return errors.New("'timeout' belongs to run and answer; that of a wait stands inside it")
	case s.Snapshot != nil && s.Snapshot.Scrollback < 0:
		return fmt.Errorf("'scrollback' is %d", s.Snapshot.Scrollback)
	}
	return nil
}

// request turns the step into conditions with the batch's baseline.
func (w *waitStep) request(after uint64) (req wire.Wait, err error) {
	req = wire.Wait{
		Text: w.Text, Regex: w.Regex, Gone: w.Gone, Changed: w.Changed,
		Stable: time.Duration(w.Stable), Idle: time.Duration(w.Idle), Ready: w.Ready, Exit: w.Exit,
		After: after, Timeout: 30 * time.Second, ByCommand: true,
	}
	if w.Timeout != nil {
		req.Timeout = time.Duration(*w.Timeout)
	}
	if *w == (waitStep{Timeout: w.Timeout}) {
		return req, errors.New("a wait needs a condition: text, regex, gone, cursor, changed, stable, idle, ready or exit")
	}
	if w.Regex != nil {
		_, err = regexp.Compile(*w.Regex)
	}
	if err == nil && w.Cursor != nil {
		req.Cursor, err = parsePosition(*w.Cursor)
	}
	return req, err
}

// isSteps reports whether a word contains steps rather than a file name.
func isSteps(word string) bool {
	word = strings.TrimSpace(word)
	return strings.HasPrefix(word, "[") || strings.HasPrefix(word, "{")
}
