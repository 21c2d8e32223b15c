package cli

import (
	"fmt"
	"io"

	"den/internal/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

// agentOrSelf is the agent that is named, or the one that speaks.
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
		Short: "Asked by an agent: is it to finish its work? Exit status 3 if not",
		Long: `An agent that must end and may finish first is asked to. Between two pieces of work it can
ask with this whether it was: then it prints since when and why, and the exit status is 0,
else it is 3. NAME is $DEN_AGENT by default. It answers with 'den agent drained'.`,
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
		Short: "Said by an agent that was asked to finish: it has",
		Long: `An agent that must end and may finish first is asked to: 'den agent draining' tells it so,
and where the workspace has a drain_nudge, that is typed. The agent answers with this; NAME
is $DEN_AGENT by default.`,
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
