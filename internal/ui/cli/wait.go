package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/steps"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) waitCmd() *cobra.Command {
	w := wire.Wait{Timeout: 30 * time.Second}
	var as string
	cmd := &cobra.Command{
		Use:   "wait [SESSION] COND...",
		Short: "Wait until the screen meets conditions",
		Long: `Wait until all conditions hold for the same screen. They are checked whenever the screen
changes. On a timeout (exit 11) the result says which condition failed and what the screen
shows.

With --after SEQ only a screen with output later than that event counts. Pass the seq that
'type', 'paste' or 'keys' returned, so that earlier text cannot match. Text is also found
where the terminal wrapped it.`,
		Example: "  den wait work --text 'Build finished' -t 5m\n  den wait work --ready\n  den wait work --regex '\\$ $' --stable 300ms\n  den wait job --exit -t 1h",
	}
	f := cmd.Flags()
	waitFlags(f, &w)
	addCaller(cmd, &as)
	return a.onSession(cmd, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		if err := readWords(f, &w); err != nil {
			return err
		}
		if w == (wire.Wait{Timeout: w.Timeout}) {
			return fault.Hintf(fault.Errorf(fault.Usage, "wait needs a condition"), "for example --text 'done', --ready, --stable 500ms or --exit")
		}
		w.ByCommand = true
		return a.runWait(ctx, s, w, as)
	})
}

// waitFlags makes a flag of every condition.
func waitFlags(f *pflag.FlagSet, w *wire.Wait) {
	for _, c := range wire.WaitConditions {
		switch p := c.In(w).(type) {
		case *bool:
			f.BoolVar(p, c.Name, false, c.Help)
		case *uint64:
			f.Uint64Var(p, c.Name, 0, c.Help)
		case *time.Duration:
			f.Var((*duration)(p), c.Name, c.Help)
		default:
			f.String(c.Name, "", c.Help) // for readWords
		}
	}
	f.VarP((*duration)(&w.Timeout), "timeout", "t", "how long to wait; 0: no limit")
}

// readWords reads the conditions that are texts and places.
func readWords(f *pflag.FlagSet, w *wire.Wait) error {
	for _, c := range wire.WaitConditions {
		given := f.Lookup(c.Name)
		if !given.Changed {
			continue
		}
		word := given.Value.String()
		switch p := c.In(w).(type) {
		case **string:
			if word == "" {
				return fault.Errorf(fault.Usage, "--%s is empty", c.Name)
			}
			*p = &word
		case **screen.Point:
			var err error
			if *p, err = steps.ParsePosition(word); err != nil {
				return err
			}
		}
	}
	if w.Regex != nil {
		if _, err := regexp.Compile(*w.Regex); err != nil {
			return fault.Errorf(fault.Usage, "--regex: %w", err)
		}
	}
	return nil
}

func (a *app) runWait(ctx context.Context, s *session.Session, w wire.Wait, as string) error {
	result, err := s.Wait(ctx, w)
	if err != nil {
		return err
	}
	if err = a.answerWait(w, result); result.ExitCode == nil || result.Status == wire.WaitCommandEnded {
		return err
	}
	a.looked(s) // its end is no news any more
	if err == nil || errors.As(err, &reported{}) {
		a.had(s, "", as)
	}
	return err
}

// answerWait prints what became of a wait, and returns the error that it means.
func (a *app) answerWait(w wire.Wait, result *wire.WaitResult) (err error) {
	switch result.Status {
	case wire.WaitMatched:
		return a.answer(result, func(out io.Writer) { printMatched(out, result) })
	case wire.WaitEnded:
		err = fault.Errorf(fault.NotRunning, "the session is over and the condition did not come: %s", strings.Join(result.Unmet, ", "))
	case wire.WaitCommandEnded:
		err = fault.Errorf(fault.Timeout, "the command has ended%s and the condition did not come: %s", steps.WithStatus(result.ExitCode), strings.Join(result.Unmet, ", "))
	default:
		err = fault.Errorf(fault.Timeout, "the condition did not come within %v: %s", w.Timeout, strings.Join(result.Unmet, ", "))
	}
	if a.json {
		if err := a.printJSON(result); err != nil {
			return err
		}
		return reported{err}
	}
	fmt.Fprintf(a.stderr, "den: %v\n", err)
	if len(result.LastLines) > 0 {
		fmt.Fprintf(a.stderr, "the screen (%s) ends with:\n  %s\n", result.ScreenHash, strings.Join(result.LastLines, "\n  "))
	}
	return reported{err}
}

func printMatched(out io.Writer, r *wire.WaitResult) {
	switch {
	case r.Text != "":
		fmt.Fprintln(out, r.Text)
	case r.ExitSignal != "":
		fmt.Fprintln(out, "exited by", r.ExitSignal)
	case r.ExitCode != nil:
		fmt.Fprintln(out, "exited with status", *r.ExitCode)
	default:
		fmt.Fprintln(out, "matched")
	}
}

func (a *app) notifyCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "notify [SESSION] MESSAGE",
		Short:   "Send a message to the followers of a session's events",
		Example: "  den notify work 'the build is ready'",
	}, 1, func(ctx context.Context, s *session.Session, words []string) error {
		return a.answerSeq(s.Notify(ctx, wire.Notify{Message: words[0], From: fmt.Sprintf("den:%d", os.Getppid())}))
	})
}

func (a *app) eventsCmd() *cobra.Command {
	var once, all bool
	cmd := a.onWord(&cobra.Command{
		Use:   "events [SESSION] [CELL]",
		Short: "Follow a session's cells and messages, one JSON object per line",
		Long: `Print one event per line when a cell starts, asks something ("asking") or ends, when a
message is sent, when the program rings the bell, sends a notification, reports its progress
or writes to the clipboard, and when the session closes. It follows the event log, so no
event is missed, and it works for a session that is over. It begins now, or with --all at the beginning of the log. With a CELL only
that cell's events are printed, from its start; with -1 and a CELL what happened before is left
out, but for its end or the question that it asks.`,
		Example: "  den events work\n  den events work -1 && echo 'a cell has ended or asks'",
		Args:    args(0, 2),
	}, a.pollTarget, func(ctx context.Context, s *session.Session, id string) error {
		return a.runEvents(ctx, s, id, once, all)
	})
	cmd.Flags().BoolVarP(&once, "once", "1", false, "exit when a cell has ended or asks something")
	cmd.Flags().BoolVar(&all, "all", false, "from the beginning of the log")
	return cmd
}

func (a *app) runEvents(ctx context.Context, s *session.Session, id string, once, all bool) error {
	after, err := eventsBegin(ctx, s, id, all)
	if err != nil {
		return err
	}
	old := uint64(0) // of a cell that is waited for only its end or its question is told of what happened before
	if once && id != "" && !all {
		if old, err = s.LastSeq(ctx); err != nil {
			return err
		}
	}
	enough := errors.New("a cell ended or asks")
	err = s.Events(ctx, after, func(e session.Event) error {
		if id != "" && e.CellID != "" && e.CellID != id {
			return nil
		}
		last := once && (e.CellEnded() || stillAsks(s, e))
		if e.Seq <= old && !last {
			return nil
		}
		if err := a.printJSON(e); err != nil {
			return err
		}
		if last {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		a.looked(s)
		return nil
	}
	return err
}

// stillAsks reports whether the event is a question that nobody has answered.
func stillAsks(s *session.Session, e session.Event) bool {
	if e.Status != cell.Asking {
		return false
	}
	r, err := s.Poll(e.CellID)
	return err != nil || r.WaitingFor != "" // its record may not be here
}

// eventsBegin returns the event after which to begin: the current end or, for
// a named cell, the event before it was fired, so that an ended cell is not
// waited for.
func eventsBegin(ctx context.Context, s *session.Session, id string, all bool) (uint64, error) {
	switch {
	case all:
		return 0, nil
	case id != "":
		return s.BeforeCell(id)
	}
	return s.LastSeq(ctx)
}
