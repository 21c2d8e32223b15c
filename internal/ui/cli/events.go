package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

func (a *app) notifyCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "notify [SESSION] MESSAGE",
		Short:   "Send a message to the followers of a session's events",
		Example: "  den notify work 'the build is ready'",
		GroupID: groupCell,
	}, 1, func(ctx context.Context, s *session.Session, words []string) error {
		return a.answerSeq(s.Notify(ctx, wire.Notify{Message: words[0], From: fmt.Sprintf("den:%d", os.Getppid())}))
	})
}

func (a *app) eventsCmd() *cobra.Command {
	var once, all bool
	cmd := &cobra.Command{
		Use:   "events [SESSION] [CELL]",
		Short: "Follow a session's cells and messages, one JSON object per line",
		Long: `Print one event per line when a cell starts, asks something ("asking") or ends, when a
message is sent, when the program rings the bell, sends a notification, reports its progress
or writes to the clipboard, and when the session closes. It follows the event log, so no
event is missed, and it works for a session that is over. It begins now, or with --all at the beginning of the log. With a CELL only
that cell's events are printed, from its start.`,
		Example: "  den events work\n  den events work -1 && echo 'a cell has ended or asks'",
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := a.pollTarget(args)
			if err != nil {
				return err
			}
			return a.runEvents(cmd.Context(), s, id, once, all)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVarP(&once, "once", "1", false, "exit when a cell has ended or asks something")
	cmd.Flags().BoolVar(&all, "all", false, "from the beginning of the log")
	return cmd
}

func (a *app) runEvents(ctx context.Context, s *session.Session, id string, once, all bool) error {
	after, err := eventsBegin(ctx, s, id, all)
	if err != nil {
		return err
	}
	enough := errors.New("a cell ended or asks")
	err = s.Events(ctx, after, func(e session.Event) error {
		if id != "" && e.CellID != "" && e.CellID != id {
			return nil
		}
		if err := a.printJSON(e); err != nil {
			return err
		}
		if once && (e.CellEnded() || stillAsks(s, e)) {
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
