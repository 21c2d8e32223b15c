package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/session"
	"den/internal/session/steps"

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
  {"resize":"100x30"}
  {"run":"make test","timeout":"5m"}   {"answer":"yes"}   {"answer":{"keys":["Down","Enter"]}}
  {"wait":{"text":"ok","stable":"300ms","timeout":"10s"}}   (text regex gone cursor changed stable idle ready exit)
  {"snapshot":{"scrollback":20}}   {"screen":["row","row"]}   {"exit":0}   (see 'den test')

All steps are checked before the first is sent. A wait sees only what comes after the
last input step, with "early":true also what came before. The first step that fails ends the batch, unless --keep-going is given;
what was sent is not undone. A question is not a failure if the next step is an
answer. One record is printed for each step; after Ctrl-C, the records so far.`,
		Example: `  den batch work '[{"type":"ls","enter":true},{"wait":{"ready":true}},{"snapshot":{}}]'` + "\n  den batch work steps.json --keep-going",
		Args:    args(0, 2),
	}, a.batchTarget, func(ctx context.Context, s *session.Session, words string) error {
		return a.runBatch(ctx, s, words, keepGoing)
	})
	cmd.Flags().BoolVar(&keepGoing, "keep-going", false, "continue after a failed step")
	return cmd
}

// stepRecord is what became of a step.
type stepRecord struct {
	Index      int    `json:"index"`
	Kind       string `json:"kind"`
	Status     string `json:"status"` // completed, failed, interrupted or not-run
	DurationMS int64  `json:"duration_ms"`
	steps.Result
	Snapshot *snapshotAnswer `json:"snapshot,omitempty"`
	Error    *fault.Object   `json:"error,omitempty"`
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
	all, err := steps.Parse(raw)
	if err != nil {
		return err
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	b := &batch{app: a, Runner: steps.Runner{Session: s}, name: m.Name}
	records, failed := b.runAll(ctx, all, keepGoing)
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
	steps.Runner
	name string
}

// runAll runs the steps and returns a record for each, and the first failure.
func (b *batch) runAll(ctx context.Context, all []steps.Step, keepGoing bool) ([]stepRecord, error) {
	var failed error
	records := make([]stepRecord, len(all))
	for i := range all {
		r := &records[i]
		r.Index, r.Kind, r.Status = i, all[i].Kind(), "not-run"
		if ctx.Err() != nil || failed != nil && !keepGoing {
			continue
		}
		begun := time.Now()
		var err error
		if r.Result, err = b.Run(ctx, &all[i]); r.Screen != nil && all[i].Snapshot != nil {
			ans := answerFor(b.name, r.Screen, "text")
			r.Snapshot = &ans
		}
		if fault.KindOf(err) == fault.Waiting && i+1 < len(all) && all[i+1].Answer != nil {
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

// isSteps reports whether a word contains steps rather than a file name.
func isSteps(word string) bool {
	word = strings.TrimSpace(word)
	return strings.HasPrefix(word, "[") || strings.HasPrefix(word, "{")
}
