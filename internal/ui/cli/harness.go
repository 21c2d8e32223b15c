package cli

import (
	"fmt"
	"io"

	"den/internal/agent/harness/ipc"

	"github.com/spf13/cobra"
)

func (a *app) harnessCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "harness",
		Short:   "Look at and steer the harness of an agent: status, pause, resume, cancel, shutdown",
		Example: "  den harness status coder\n  den harness pause coder",
		GroupID: groupAgent,
		Args:    unknownVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.harnessStatusCmd())
	for _, v := range []struct{ kind, short string }{
		{ipc.Pause, "Begin no more turns; messages are kept"},
		{ipc.Resume, "Begin turns again, also after too many failures"},
		{ipc.Cancel, "End the turn that runs"},
		{ipc.Shutdown, "End the agent and its harness; its keeper starts them again"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: v.kind + " NICK", Short: v.short, Example: "  den harness " + v.kind + " coder", Args: args(1, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.onHarness(cmd.Context(), args[0], func(c *ipc.Conn) error {
					return quietly(a, cmd.Context(), c, ipc.Request{Type: v.kind})
				})
			},
		})
	}
	return cmd
}

func (a *app) harnessStatusCmd() *cobra.Command {
	return &cobra.Command{
		Use: "status NICK", Short: "Show what an agent does", Example: "  den harness status coder -j", Args: args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onHarness(cmd.Context(), args[0], func(c *ipc.Conn) error {
				return call(a, cmd.Context(), c, ipc.Request{Type: ipc.Status}, func(w io.Writer, s ipc.AgentStatus) {
					fmt.Fprintf(w, "%s: %s\n%d turns, %d messages wait\n", s.Activity, s.Description, s.TurnCount, s.Pending)
					if s.Why != "" {
						fmt.Fprintln(w, s.Why)
					}
					if s.CircuitOpen {
						fmt.Fprintln(w, "it failed too often and is not restarted: 'den harness resume' tries again")
					}
					if s.Question != nil {
						fmt.Fprintf(w, "asks %s: %s\n", s.Question.ID, s.Question.Text)
					}
				})
			})
		},
	}
}
