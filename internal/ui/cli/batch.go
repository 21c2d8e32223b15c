package cli

import (
	"context"
	"fmt"
	"time"

	"den/internal/base/fault"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

func (a *app) batchCmd() *cobra.Command {
	var keepGoing bool
	cmd := &cobra.Command{
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
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, steps, err := a.batchTarget(args)
			if err != nil {
				return err
			}
			return a.runBatch(cmd.Context(), s, steps, keepGoing)
		},
		ValidArgsFunction: a.completeSession,
	}
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
func (a *app) batchTarget(args []string) (*session.Session, string, error) {
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
