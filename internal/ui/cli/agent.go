package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"den/internal/agent/harness/turns"
	"den/internal/base/build"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) agentCmd() *cobra.Command {
	cmd := parentCmd(&cobra.Command{
		Use:     "agent",
		Short:   "Manage one agent: start, stop, nudge, answer, peek, attach, logs, turns, explain",
		Example: "  den agent nudge greeter 'echo hello'\n  den agent peek greeter\n  den agent logs greeter",
	})
	for _, o := range []struct{ order, short string }{
		{keeper.OrderStart, "Start the agent and wait until it runs"},
		{keeper.OrderStop, "Stop the agent until it is started again"},
		{keeper.OrderRestart, "Stop the agent and start it again"},
		{keeper.OrderSuspend, "Suspend the agent; without a name, the whole workspace"},
		{keeper.OrderResume, "Resume the agent; without a name, the whole workspace"},
		{keeper.OrderReset, "Clear the agent's failures: end its quarantine and retry at once"},
	} {
		cmd.AddCommand(a.orderCmd(o.order, o.short))
	}
	cmd.AddCommand(a.askCmd(), a.agentAnswerCmd(), a.nudgeCmd(), a.nudgesCmd(), a.peekCmd(), a.agentAttachCmd(), a.logsCmd(), a.turnsCmd(), a.explainCmd(), a.agentSandboxCmd(), a.drainingCmd(), a.drainedCmd())
	return cmd
}

func (a *app) orderCmd(order, short string) *cobra.Command {
	var noWait bool
	limit := duration(time.Minute)
	least, use := 1, order+" NAME"
	if order == keeper.OrderSuspend || order == keeper.OrderResume {
		least, use = 0, order+" [NAME]"
	}
	cmd := a.onAgent(&cobra.Command{
		Use:     use,
		Short:   short,
		Example: "  den agent " + order + " greeter",
		Args:    args(least, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := keeper.Agent{Order: order, Wait: !noWait, Name: first(args)}
			carryOut := task{
				method: keeper.MethodOrder, params: req,
				reach: patience(limit), unknown: fmt.Sprintf("whether the order '%s' holds", order),
				limit: time.Duration(limit),
				late:  fault.Hintf(fault.Errorf(fault.Timeout, "'%s' is not done within %s", order, limit.String()), "the order holds all the same; 'den ps' tells what it waits for"),
			}
			var ps keeper.Ps
			err := a.perform(cmd.Context(), carryOut, &ps)
			return a.result(err, ps, func(io.Writer) { printPs(a.sheet(), ps, time.Now()) })
		},
	})
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return at once")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait")
	return cmd
}

func (a *app) peekCmd() *cobra.Command {
	var lines int
	cmd := a.onAgent(&cobra.Command{
		Use:     "peek NAME",
		Short:   "Print the last lines of an agent's session",
		Example: "  den agent peek greeter -n 10",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return fault.Errorf(fault.Usage, "-n is a number of lines; 0 means all")
			}
			var p keeper.Peeked
			err := a.keep(cmd.Context(), keeper.MethodPeek, keeper.Agent{Name: args[0], Lines: lines}, &p)
			return a.result(err, p, func(w io.Writer) {
				if p.Text != "" {
					fmt.Fprintln(w, p.Text)
				}
			})
		},
	})
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "how many lines; 0: all")
	return cmd
}

func (a *app) agentAttachCmd() *cobra.Command {
	return a.onAgent(&cobra.Command{
		Use:     "attach NAME",
		Short:   "Attach your terminal to an agent's session",
		Example: "  den agent attach greeter",
		Args:    args(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.stateDir()
			if err != nil {
				return err
			}
			argv, err := a.keeperArgv(p)
			if err != nil {
				return err
			}
			return a.become(append(argv, "attach", args[0]))
		},
	})
}

func (a *app) logsCmd() *cobra.Command {
	var follow bool
	var after uint64
	cmd := a.onAgent(&cobra.Command{
		Use:     "logs [NAME]",
		Short:   "Print what the keeper did with an agent, and why; without a name, with all agents",
		Example: "  den agent logs greeter\n  den agent logs -f --after 120 -j",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.events(cmd.Context(), keeper.EventsFrom{Agent: first(args), After: after, Follow: follow})
		},
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow new events")
	cmd.Flags().Uint64Var(&after, "after", 0, "only events after this `SEQ`")
	return cmd
}

// events prints a keeper's events. Without a keeper they are read from its file.
func (a *app) events(ctx context.Context, from keeper.EventsFrom) error {
	p, err := a.stateDir()
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
	return completeFirst(args, func() (names []string, err error) {
		_, ws, err := a.workspace()
		if err != nil {
			return nil, nil // there are none here
		}
		for i := range ws.Agents {
			ag := &ws.Agents[i]
			if ag.Pool == nil {
				names = append(names, ag.Name)
				continue
			}
			names = append(names, ag.Members(ag.Pool.Max)...)
		}
		return names, nil
	})
}

// turnsEvery is how often those who follow a conversation look for what is new.
const turnsEvery = 500 * time.Millisecond

func (a *app) turnsCmd() *cobra.Command {
	var follow bool
	var after uint64
	var most int
	cmd := a.onAgent(&cobra.Command{
		Use:   "turns NAME",
		Short: "Print the conversation with an agent that den drives by protocol",
		Long: `Print what was said and done in the turns of an agent that den drives by protocol: who
asked what, what the agent thought, said and used, what it asked permission for and how
that was decided, and how each turn ended. Known kinds of secrets are hidden.
For an agent on a screen den has the recording instead: see 'den agent peek' and 'den dashboard'.`,
		Example: "  den agent turns coder\n  den agent turns coder -f\n  den agent turns coder --after 120 -j",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 {
				return fault.Errorf(fault.Usage, "-n %d: at least one", most)
			}
			dir, err := a.harnessDir(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printTurns(cmd.Context(), dir, after, most, follow)
		},
	})
	cmd.Flags().IntVarP(&most, "lines", "n", 200, "the newest `N` entries at most")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow what is said and done")
	cmd.Flags().Uint64Var(&after, "after", 0, "only entries after this `SEQ`")
	return cmd
}

// harnessDir is where the harness of an agent keeps its files. The keeper knows, also
// of an agent that has moved; without one its name tells.
func (a *app) harnessDir(ctx context.Context, name string) (string, error) {
	p, err := a.stateDir()
	if err != nil {
		return "", err
	}
	key := name
	switch found, kept, err := statusOf(ctx, p, name); {
	case err != nil:
		return "", err
	case kept && found == nil:
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name), "'den ps' lists them")
	case kept && found.Harness == "":
		return "", noTurns(found.Name)
	case kept:
		key = found.Harness
	}
	dir := p.Harness(key)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", noTurns(name)
	}
	return dir, nil
}

func noTurns(name string) error {
	return fault.Hintf(fault.Errorf(fault.Unsupported, "den keeps no turns of agent '%s': it is not driven by its protocol", name), "'den agent peek %s' shows its terminal", name)
}

func (a *app) printTurns(ctx context.Context, dir string, after uint64, most int, follow bool) error {
	state := ""
	for {
		now, err := turns.State(dir)
		if err != nil {
			return err
		}
		if now != state || !follow {
			page, err := turns.Read(dir, after, 0, most)
			if err != nil {
				return err
			}
			for _, e := range page.Entries {
				if err := a.printTurn(e); err != nil {
					return err
				}
				after = e.Seq
			}
			state = now
		}
		if !follow {
			return nil
		}
		if poll.Pause(ctx, turnsEvery) != nil {
			return nil
		}
	}
}

func (a *app) printTurn(e turns.Entry) error {
	if a.json {
		return a.printJSON(e)
	}
	text := turnText(e)
	if e.Cut {
		text += " … (cut)"
	}
	_, err := fmt.Fprintf(a.text, "%s %s\n", e.At.Local().Format(time.TimeOnly), strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n         "))
	return err
}

// turnText is an entry for people.
func turnText(e turns.Entry) string {
	switch e.Kind {
	case turns.Prompt:
		return "> " + originText(e) + ": " + e.Text
	case turns.Said:
		return e.Text
	case turns.Thought:
		return "~ " + e.Text
	case turns.Used:
		return "* " + e.Tool + " " + e.Input
	case turns.Result:
		return "  " + resultText(e) + e.Text
	case turns.Asked:
		return "? asks " + e.Approval + ": " + e.Text
	case turns.Decided:
		return "? " + e.Approval + " " + joinWords(e.State, "by", e.By, "", e.Text)
	case turns.Failed:
		return "! failed: " + e.Text + "; den goes on at " + e.Until.Local().Format(time.TimeOnly)
	case turns.Ended:
		return "· " + turnEndText(e)
	}
	return "! " + e.Text
}

// originText says where a prompt comes from.
func originText(e turns.Entry) string {
	if e.From == nil {
		return "den"
	}
	text := joinWords(string(e.From.Kind), "in", e.From.Where, "by", e.From.Who)
	if e.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", e.Attempt)
	}
	return text
}

func resultText(e turns.Entry) string {
	switch {
	case e.Denied:
		return "denied: "
	case e.Failed:
		return "failed: "
	}
	return ""
}

func turnEndText(e turns.Entry) string {
	parts := []string{(time.Duration(e.TookMs) * time.Millisecond).Round(100 * time.Millisecond).String()}
	if e.Cancelled {
		parts = append(parts, "cancelled")
	}
	if u := e.Usage; u != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens))
		if u.CostUSD > 0 {
			parts = append(parts, fmt.Sprintf("$%.4f", u.CostUSD))
		}
	}
	if e.Failed {
		parts = append(parts, "failed: "+e.Text)
	}
	return strings.Join(parts, ", ")
}

// joinWords is a text and what there is of others, each behind its word.
func joinWords(text string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			text = strings.TrimSpace(text + " " + strings.TrimSpace(pairs[i]+" "+pairs[i+1]))
		}
	}
	return text
}
