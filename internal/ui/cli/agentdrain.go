package cli

import (
	"fmt"
	"io"

	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

// agentOrSelf returns the agent that is named, or the one that runs this
// command.
func (a *app) agentOrSelf(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	if name := a.getenv("DEN_AGENT"); name != "" {
		return name, nil
	}
	return "", fault.Errorf(fault.Usage, "which agent? DEN_AGENT is not set")
}

func (a *app) drainingCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:   "draining [NAME]",
		Short: "Ask, as an agent, whether to finish; exit status 3 if not",
		Long: `Before an agent is stopped it may be asked to finish. An agent can check for that between
two pieces of work: if it was asked, this command prints since when and why, and exits with
status 0, otherwise with 3. The agent replies with 'den agent drained'. NAME defaults to
$DEN_AGENT.`,
		Example: "  den agent draining && den agent drained",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := a.agentOrSelf(args)
			if err != nil {
				return err
			}
			var d keeper.Draining
			if err := a.keep(cmd.Context(), file, keeper.MethodDraining, keeper.Agent{Name: name}, &d); err != nil {
				return err
			}
			if !d.Draining {
				return fault.Errorf(fault.NotFound, "agent '%s' was not asked to finish", name)
			}
			return a.answer(d, func(w io.Writer) { fmt.Fprintln(w, d.Why) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
}

func (a *app) drainedCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:   "drained [NAME]",
		Short: "Report, as an agent, that the requested finish is complete",
		Long: `Before an agent is stopped it may be asked to finish: 'den agent draining' reports that, and
a drain_nudge, if the workspace has one, is typed. The agent runs this command when it has
finished. NAME defaults to $DEN_AGENT.`,
		Example: "  den agent drained",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := a.agentOrSelf(args)
			if err != nil {
				return err
			}
			if err := a.keep(cmd.Context(), file, keeper.MethodDrained, keeper.Agent{Name: name}, nil); err != nil {
				return err
			}
			return a.answer(map[string]any{"status": "noted"}, nil)
		},
	}, &file)
}
