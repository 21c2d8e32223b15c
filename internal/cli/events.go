package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"den/internal/cell"
	"den/internal/eventlog"
	"den/internal/fault"
	"den/internal/home"
	"den/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) notifyCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "notify [SESSION] MESSAGE",
		Short:   "Send a message to whoever follows a session's events",
		Example: "  den notify work 'the build is ready'",
		GroupID: groupCell,
		Args:    args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, rest, err := a.optionalTarget(args, 1)
			if err != nil {
				return err
			}
			return a.callSeq(cmd, d, wire.MethodNotify, wire.Notify{Message: rest[0], From: fmt.Sprintf("den:%d", os.Getppid())})
		},
		ValidArgsFunction: a.completeSession,
	}
}

func (a *app) eventsCmd() *cobra.Command {
	var once, all bool
	cmd := &cobra.Command{
		Use:   "events [SESSION] [CELL]",
		Short: "Follow what happens to a session's cells, one JSON object a line",
		Long: `Print an event a line as cells are fired and end, as messages are sent, and when the
session closes. It follows the event log: nothing is polled, nothing is missed, and it
works for a session that is over. Without --all it begins now; with a CELL only that
cell's events are printed, from its beginning.`,
		Example: "  den events work\n  den events work -1 && echo 'a cell has ended'",
		GroupID: groupCell,
		Args:    args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, id, err := a.pollTarget(args)
			if err != nil {
				return err
			}
			return a.runEvents(cmd.Context(), d, id, once, all)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVarP(&once, "once", "1", false, "leave after the first cell that ends")
	cmd.Flags().BoolVar(&all, "all", false, "from the beginning of the log")
	return cmd
}

// sessionEvent is one line of events.
type sessionEvent struct {
	CellID   string    `json:"cell_id,omitempty"`
	Session  string    `json:"session"`
	Status   string    `json:"status"`
	From     string    `json:"from,omitempty"`
	Message  string    `json:"message,omitempty"`
	By       string    `json:"by,omitempty"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Seq      uint64    `json:"seq"`
	Time     time.Time `json:"ts"`
}

func (a *app) runEvents(ctx context.Context, d home.Dir, id string, once, all bool) error {
	m, err := d.Inspect()
	if err != nil {
		return err
	}
	after, err := eventsBegin(d, id, all)
	if err != nil {
		return err
	}
	ended := errors.New("a cell ended")
	err = a.followSession(ctx, d, after, func(ev eventlog.Event) error {
		e, ok := eventOf(ev)
		if !ok || id != "" && e.CellID != "" && e.CellID != id {
			return nil
		}
		e.Session, e.Seq, e.Time = m.Name, ev.Seq, m.Created.Add(ev.Time)
		if err := a.printJSON(e); err != nil {
			return err
		}
		if once && e.CellID != "" && e.Status != "fired" {
			return ended
		}
		return nil
	})
	if errors.Is(err, ended) {
		return nil
	}
	return err
}

// eventsBegin is the event after which to begin: now, or for a named cell
// just before it was fired, so that one that has ended is not waited for.
func eventsBegin(d home.Dir, id string, all bool) (uint64, error) {
	if all {
		return 0, nil
	}
	if id != "" {
		rec, err := cell.Store{Dir: d.Cells()}.Load(id)
		if err != nil {
			return 0, err
		}
		return max(rec.StartSeq, 1) - 1, nil
	}
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return 0, err
	}
	last, err := log.Last()
	return last.Seq, err
}

// eventOf turns an event of the log into what events prints.
func eventOf(ev eventlog.Event) (sessionEvent, bool) {
	switch ev.Code {
	case eventlog.Cell:
		var c struct {
			Cell   string `json:"cell_id"`
			Status string `json:"status"`
			By     string `json:"by"`
			Exit   *int   `json:"exit_code"`
		}
		if json.Unmarshal(ev.Data, &c) != nil {
			return sessionEvent{}, false // of a newer den
		}
		return sessionEvent{CellID: c.Cell, Status: c.Status, By: c.By, ExitCode: c.Exit}, true
	case eventlog.Note:
		var n struct {
			Notify *wire.Notify `json:"notify"`
		}
		if json.Unmarshal(ev.Data, &n) != nil || n.Notify == nil {
			return sessionEvent{}, false
		}
		return sessionEvent{Status: "notify", From: n.Notify.From, Message: n.Notify.Message}, true
	case eventlog.Exit:
		return sessionEvent{Status: "closed"}, true
	}
	return sessionEvent{}, false
}

// followSession hands over the events of a session after one, until the
// session is over or handle returns an error.
func (a *app) followSession(ctx context.Context, d home.Dir, after uint64, handle func(eventlog.Event) error) error {
	// A host that dies without a word writes no last event: then what is there
	// is all that there will be.
	gone, err := d.Gone()
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-gone:
			stop()
		case <-following.Done():
		}
	}()
	last := after
	each := func(events iter.Seq2[eventlog.Event, error]) error {
		for ev, err := range events {
			switch {
			case eventlog.Missing(err):
				fmt.Fprintln(a.stderr, "den:", err)
				continue
			case errors.Is(err, context.Canceled):
				return nil
			case err != nil:
				return err
			}
			last = ev.Seq
			if err := handle(ev); err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(eventlog.Follow(following, d.Log(), after)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return err
	}
	return each(log.Events(last))
}

// readSteps returns the steps of a batch: a word, a file, or stdin.
func (a *app) readSteps(arg string) ([]byte, error) {
	switch {
	case arg == "" || arg == "-":
		return io.ReadAll(io.LimitReader(a.stdin, wire.MaxRequest))
	case isSteps(arg):
		return []byte(arg), nil
	}
	raw, err := os.ReadFile(arg)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "read steps: %w", err)
	}
	return raw, nil
}
