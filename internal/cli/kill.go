package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) killCmd() *cobra.Command {
	grace := duration(3 * time.Second)
	cmd := &cobra.Command{
		Use:     "kill [SESSION]",
		Aliases: []string{"destroy"},
		Short:   "End a session and all its processes",
		Long: `End a session: hang up on its processes, then ask them to terminate, then kill
those that are left, children that went to the background included. The record and
the event log stay until 'den gc' removes them.`,
		Example: "  den kill work\n  den kill work --grace 10s",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			killed, err := s.Kill(cmd.Context(), time.Duration(grace))
			if err != nil {
				return err
			}
			return a.answer(killed, func(w io.Writer) { fmt.Fprintln(w, killed.Status) })
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().Var(&grace, "grace", "how long each step may take before the next, harder one")
	return cmd
}
