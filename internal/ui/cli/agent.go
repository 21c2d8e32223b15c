package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) agentCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Manage one agent: start, stop, nudge, answer, peek, attach, logs, turns, explain",
		Example: "  den agent nudge greeter 'echo hello'\n  den agent peek greeter\n  den agent logs greeter",
		GroupID: groupAgent,
		Args:    unknownVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	orders := []struct{ order, short string }{
		{keeper.OrderStart, "Start the agent and wait until it runs"},
		{keeper.OrderStop, "Stop the agent until it is started again"},
		{keeper.OrderRestart, "Stop the agent and start it again"},
		{keeper.OrderSuspend, "Suspend the agent; without a name, the whole workspace"},
		{keeper.OrderResume, "Resume the agent; without a name, the whole workspace"},
		{keeper.OrderReset, "Clear the agent's failures: end its quarantine and retry at once"},
	}
	for _, o := range orders {
		cmd.AddCommand(a.orderCmd(o.order, o.short))
	}
	cmd.AddCommand(a.askCmd(), a.agentAnswerCmd(), a.nudgeCmd(), a.nudgesCmd(), a.peekCmd(), a.agentAttachCmd(), a.logsCmd(), a.turnsCmd(), a.explainCmd(), a.agentSandboxCmd(), a.drainingCmd(), a.drainedCmd())
	return cmd
}

func (a *app) orderCmd(order, short string) *cobra.Command {
	var file string
	var noWait bool
	limit := duration(time.Minute)
	least, use := 1, order+" NAME"
	if order == keeper.OrderSuspend || order == keeper.OrderResume {
		least, use = 0, order+" [NAME]"
	}
	cmd := longFileFlag(&cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  den agent " + order + " greeter",
		Args:    args(least, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := keeper.Agent{Order: order, Wait: !noWait}
			if len(args) > 0 {
				req.Name = args[0]
			}
			carryOut := task{
				method: keeper.MethodOrder, params: req,
				reach: patience(limit), unknown: fmt.Sprintf("whether the order '%s' holds", order),
				limit: time.Duration(limit),
				late:  fault.Hintf(fault.Errorf(fault.Timeout, "'%s' is not done within %s", order, limit.String()), "the order holds all the same; 'den ps' tells what it waits for"),
			}
			var ps keeper.Ps
			if err := a.perform(cmd.Context(), file, carryOut, &ps); err != nil {
				return err
			}
			return a.answer(ps, func(io.Writer) { printPs(a.sheet(), ps, time.Now()) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return at once")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait")
	return cmd
}

func (a *app) peekCmd() *cobra.Command {
	var file string
	var lines int
	cmd := longFileFlag(&cobra.Command{
		Use:     "peek NAME",
		Short:   "Print the last lines of an agent's session",
		Example: "  den agent peek greeter -n 10",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return fault.Errorf(fault.Usage, "-n is a number of lines; 0 means all")
			}
			var p keeper.Peeked
			if err := a.keep(cmd.Context(), file, keeper.MethodPeek, keeper.Agent{Name: args[0], Lines: lines}, &p); err != nil {
				return err
			}
			return a.answer(p, func(w io.Writer) {
				if p.Text != "" {
					fmt.Fprintln(w, p.Text)
				}
			})
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "how many lines; 0: all")
	return cmd
}

func (a *app) agentAttachCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:     "attach NAME",
		Short:   "Attach your terminal to an agent's session",
		Example: "  den agent attach greeter",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.stateDir(file)
			if err != nil {
				return err
			}
			binary, err := a.dend()
			if err != nil {
				return err
			}
			argv, err := a.keeperArgv(binary, p)
			if err != nil {
				return err
			}
			return a.become(append(argv, "attach", args[0]))
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
}

func (a *app) logsCmd() *cobra.Command {
	var file string
	var follow bool
	var after uint64
	cmd := longFileFlag(&cobra.Command{
		Use:     "logs [NAME]",
		Short:   "Print what the keeper did with an agent, and why; without a name, with all agents",
		Example: "  den agent logs greeter\n  den agent logs -f --after 120 -j",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from := keeper.EventsFrom{After: after, Follow: follow}
			if len(args) > 0 {
				from.Agent = args[0]
			}
			return a.events(cmd.Context(), file, from)
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new events")
	cmd.Flags().Uint64Var(&after, "after", 0, "only events after this `SEQ`")
	return cmd
}

// events prints a keeper's events. Without a keeper they are read from its file.
func (a *app) events(ctx context.Context, file string, from keeper.EventsFrom) error {
	p, err := a.stateDir(file)
	if err != nil {
		return err
	}
	c, err := p.Dial(ctx, build.Version)
	if fault.KindOf(err) == fault.NotRunning && !from.Follow {
		return keeper.ReadEvents(p, from, a.printEvent)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Stream(ctx, keeper.MethodEvents, from, func(raw json.RawMessage) error {
		var e keeper.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return fault.Errorf(fault.Protocol, "event: %w", err)
		}
		return a.printEvent(e)
	})
}

func (a *app) printEvent(e keeper.Event) error {
	if a.json {
		return a.printJSON(e)
	}
	_, err := fmt.Fprintf(a.text, "%s %s", e.Time.Local().Format(time.DateTime), e.Type)
	if e.Agent != "" {
		fmt.Fprintf(a.text, " %s", e.Agent)
	}
	if e.Why != "" {
		fmt.Fprintf(a.text, ": %s", e.Why)
	}
	if code, ok := e.Detail["exit_code"]; ok {
		fmt.Fprintf(a.text, " (exit %v)", code)
	}
	if by, ok := e.Detail["by"]; ok && by != "" {
		fmt.Fprintf(a.text, ", by %v", by)
	}
	if note, ok := e.Detail["note"]; ok && e.Type == keeper.EventState {
		fmt.Fprintf(a.text, ", %v", note)
	}
	fmt.Fprintln(a.text)
	return err
}

// completeAgent completes the names of the workspace's agents.
func (a *app) completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_, ws, err := a.workspace("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		if ag.Pool == nil {
			names = append(names, ag.Name)
			continue
		}
		names = append(names, ag.Members(ag.Pool.Max)...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
