package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) killCmd() *cobra.Command {
	grace := duration(3 * time.Second)
	var force bool
	cmd := a.onSession(&cobra.Command{
		Use:     "kill [SESSION]",
		Aliases: []string{"destroy"},
		Short:   "End a session and all its processes",
		Long: `End a session: send its processes SIGHUP, then SIGTERM, then SIGKILL to those that are
left, background processes included. The record and the event log stay until 'den gc'
removes them. With --force a host that does not answer is killed too.
If the host had already died and there is no cgroup, den cannot find a process that cleared
its environment. The answer then says that there may be survivors.`,
		Example: "  den kill work\n  den kill work --grace 10s",
		GroupID: groupSession,
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		end := s.Kill
		if force {
			end = s.ForceKill
		}
		killed, err := end(ctx, time.Duration(grace))
		if err != nil {
			return err
		}
		return a.answer(killed, func(w io.Writer) {
			fmt.Fprintln(w, killed.Status)
			if killed.MayHaveSurvivors {
				fmt.Fprintln(w, "it may have survivors: its host was gone, and without a cgroup a process that cleared its environment is not found")
			}
		})
	})
	cmd.Flags().BoolVar(&force, "force", false, "kill the session's host if it is frozen")
	cmd.Flags().Var(&grace, "grace", "how long to wait after each signal before the next")
	return cmd
}
