package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"den/internal/agent"
	"den/internal/conversation"
	"den/internal/fault"
	"den/internal/keeper"
	"den/internal/render/redact"
	"den/internal/workspace"

	"github.com/spf13/cobra"
)

func (a *app) agentCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Manage one agent: start, stop, nudge, answer, peek, attach, logs, explain",
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
	cmd.AddCommand(a.askCmd(), a.agentAnswerCmd(), a.nudgeCmd(), a.nudgesCmd(), a.peekCmd(), a.agentAttachCmd(), a.logsCmd(), a.explainCmd(), a.drainingCmd(), a.drainedCmd())
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
	c, err := p.Dial(ctx, Version)
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
	if note, ok := e.Detail["note"]; ok && e.Type == keeper.EventState {
		fmt.Fprintf(a.text, ", %v", note)
	}
	fmt.Fprintln(a.text)
	return err
}

func (a *app) explainCmd() *cobra.Command {
	var file string
	return longFileFlag(&cobra.Command{
		Use:     "explain NAME",
		Short:   "Print an agent's resolved configuration, and where each value came from",
		Example: "  den agent explain greeter",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.stateDir(file)
			if err != nil {
				return err
			}
			ws, err := workspace.Load(p.Config)
			if err != nil {
				return err
			}
			ag, err := ws.Agent(args[0])
			if err != nil {
				return err
			}
			return a.explain(ws, ag)
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
}

func (a *app) explain(ws *workspace.Workspace, ag *workspace.Agent) error {
	tokens, err := redact.New(nil, true)
	if err != nil {
		return err
	}
	settings := ag.Explain()
	for i := range settings {
		settings[i].Value = redactValue(tokens, settings[i].Value)
	}
	argv := ag.Argv()
	for i := range argv {
		argv[i] = tokens.Text(argv[i])
	}
	template := ag.SessionTemplate
	if template == "" {
		template = ws.SessionTemplate
	}
	names, warning := agent.NewNames(template)
	if warning != nil {
		fmt.Fprintf(a.stderr, "warning: %v\n", warning)
	}
	session := names.Session(ws.Name, ag.Name)
	config, err := agent.ConfigOf(ws.Name, session, ag)
	if err != nil {
		return err
	}
	print := agent.FingerprintOf(config)
	source := stateSource(ag)
	return a.answer(map[string]any{"agent": ag.Name, "session": session, "argv": argv, "settings": settings, "fingerprint": print, "state_from": source}, func(w io.Writer) {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, s := range settings {
			fmt.Fprintf(tw, "%s\t%s\t%s\n", s.Key, s.Text(), s.From())
		}
		fmt.Fprintf(tw, "session\t%q\t\n", session)
		fmt.Fprintf(tw, "state from\t%q\t%s\n", source[0], stateFallback(source))
		fmt.Fprintf(tw, "fingerprint\t%q\ta change of it restarts the agent\n", print.Hash)
		tw.Flush()
	})
}

// stateSource returns the sources of an agent's state, the most reliable
// first.
func stateSource(ag *workspace.Agent) []string {
	name := conversation.SourceName(ag.Provider)
	if name == "" || ag.StateSource == "screen" || ag.SessionProvider == "container" && !ag.IsMind() || ag.SessionProvider == "subprocess" {
		return []string{"screen"}
	}
	return []string{name, "screen"}
}

func stateFallback(source []string) string {
	if len(source) == 1 {
		return ""
	}
	return "its screen, where that cannot be read; state_source = \"screen\" uses nothing else"
}

// redactValue hides tokens in a value of the workspace file, wherever they
// stand.
func redactValue(r *redact.Redactor, v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = redactValue(r, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = redactValue(r, v[k])
		}
	}
	return v
}

// completeAgent completes the names of the workspace's agents.
func (a *app) completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, err := a.stateDir("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ws, err := workspace.Load(p.Config)
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
