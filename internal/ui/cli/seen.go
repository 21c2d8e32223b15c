package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) seenCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:   "seen NAME...",
		Short: "Mark sessions or agents as seen",
		Long: `Mark sessions or agents as seen: what is done or failed then no longer needs you. What
asks something, and an agent in quarantine, still does. Attaching, 'den snapshot', 'den agent
peek', a dashboard, and waiting for an end mark them as seen, too.
NAME is a session of the Home, or else an agent of the workspace.`,
		Example: "  den seen work\n  den seen coder tester",
		GroupID: groupSession,
		Args:    args(1, -1),
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range names {
				if err := a.see(cmd.Context(), file, name); err != nil {
					return err
				}
			}
			return a.answer(map[string]any{"seen": names}, func(w io.Writer) { fmt.Fprintln(w, "seen:", strings.Join(names, " ")) })
		},
		ValidArgsFunction: a.completeSession,
	}, &file)
}

// see notes that somebody has looked at a session, or else at an agent.
func (a *app) see(ctx context.Context, file, name string) error {
	s, err := a.target(name)
	if err == nil {
		return s.Dir.Look(time.Now())
	}
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	switch kerr := a.keep(ctx, file, keeper.MethodSeen, keeper.Agent{Name: name}, nil); fault.KindOf(kerr) {
	case "":
		return nil
	case fault.NotFound, fault.NotRunning:
		return err // neither: the Home is what was asked first
	default:
		return kerr
	}
}

// looked notes that somebody has looked at a session. Best effort: it may be of
// a Home that only can be read.
func (a *app) looked(s *session.Session) {
	if s.Dir.Path != "" {
		_ = s.Dir.Look(time.Now())
	}
}
