package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/brief"
	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) nudgeCmd() *cobra.Command {
	var id string
	var noWait bool
	limit := duration(time.Minute)
	cmd := a.onAgent(&cobra.Command{
		Use:   "nudge NAME TEXT|-",
		Short: "Send a message to an agent when it takes input",
		Long: `Send an agent a message: text and Enter. The message is kept on disk and delivered when the
agent waits for input, no dialog is open, nobody is typing and its input line is empty.

The status says how far the message is known to have come: "queued" (on disk), "sent" (typed,
and no more is known), "taken" (the agent itself took it), "answered" (its turn has ended).
--id names the message. The same id again is the same message, so a failed call can be repeated.`,
		Example: "  den agent nudge coder 'run the tests'\n  cat task.md | den agent nudge coder -",
		Args:    args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOrStdin(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			if id == "" {
				id = ident.New(time.Now())
			}
			nudge := task{
				method: keeper.MethodNudge, params: keeper.Agent{Name: args[0], NudgeID: id, Text: strings.TrimRight(text, "\n"), Wait: !noWait},
				reach: patience(limit), unknown: "whether it keeps the message",
				limit: time.Duration(limit),
				late:  fault.Hintf(fault.Errorf(fault.Timeout, "the nudge to '%s' has not gone in within %s", args[0], limit.String()), "it is kept, and typed as soon as the agent takes input; 'den ps' tells what it does"),
			}
			var n keeper.Nudged
			if err := a.perform(cmd.Context(), nudge, &n); err != nil {
				return withID(id, err)
			}
			return a.answer(n, func(w io.Writer) { fmt.Fprintln(w, n.Status) })
		},
	})
	cmd.Flags().StringVar(&id, "id", "", "the message's id; a message with a known id is not sent again")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return when the message is on disk")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait for delivery")
	return cmd
}

// withID adds the nudge's id to an error, so that the call can be retried.
func withID(id string, err error) error {
	if strings.Contains(err.Error(), id) {
		return err
	}
	return fmt.Errorf("nudge %s: %w", id, err)
}

func (a *app) nudgesCmd() *cobra.Command {
	return a.onAgent(&cobra.Command{
		Use:     "nudges [NAME]",
		Short:   "List an agent's nudges and their outcomes; without a name, those of all agents",
		Long:    "List pending nudges, with what they wait for, and the last 200 finished nudges of each agent.",
		Example: "  den agent nudges coder",
		Args:    args(0, 1),
		RunE: asking(a, keeper.MethodNudges, func(words []string) any { return keeper.Agent{Name: first(words)} },
			func(w io.Writer, all keeper.Nudges) { printNudges(w, all.Nudges, time.Now()) }),
	})
}

// nudgeShown is how much of a nudge is shown in a table.
const nudgeShown = 40

func printNudges(w io.Writer, all []keeper.Nudge, now time.Time) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NUDGE\tAGENT\tSTATUS\tAGE\tTEXT\tNOTE")
	for _, n := range all {
		text := brief.Runes(strings.Join(strings.Fields(n.Text), " "), nudgeShown)
		note, _, _ := strings.Cut(n.Note, "\n")
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, n.Agent, n.Status, brief.Age(now.Sub(n.Created)), text, note)
	}
	tw.Flush()
}

// keeperGrace is how much longer than the keeper its client waits.
const keeperGrace = 2 * time.Second

func (a *app) askCmd() *cobra.Command {
	var id string
	limit := duration(10 * time.Minute)
	cmd := a.onAgent(&cobra.Command{
		Use:   "ask NAME TEXT|-",
		Short: "Send an agent a message and print its answer",
		Long: `Send an agent a message, wait until it has ended its turn and print the answer. With -j the answer has
the tokens and the cost of the turn, how long it took, the tools it used (where that is known), what it
was read from ("source") and how surely it answers this message ("certainty").

The answer comes from the agent's protocol or from the record that its CLI keeps, and otherwise from its
screen: what stands between the message and the prompt. "certainty" is then "likely" or "unsure".

Agents may ask each other. A question that would make two agents wait for each other is refused.
If the agent asks for a decision first, the exit code is 13. If the time is over before the answer comes,
it is 11. The message stays in both cases: the same --id with the same text waits for its answer.`,
		Example: "  den agent ask reviewer 'is this safe to merge?'\n  git diff | den agent ask reviewer -",
		Args:    args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOrStdin(cmd.Context(), args[1:])
			if err != nil {
				return err
			}
			if id == "" {
				id = "ask-" + ident.New(time.Now())
			}
			req := keeper.Agent{
				Name: args[0], NudgeID: id, Text: strings.TrimRight(text, "\n"), Caller: a.getenv("DEN_AGENT"),
				TimeoutMs: max(1, time.Duration(limit).Milliseconds()),
			}
			// The keeper ends the wait, and says how far the message has come.
			ask := task{
				method: keeper.MethodAsk, params: req,
				reach: patience(limit + duration(keeperGrace)), unknown: "how far the message " + id + " has come",
			}
			var answer conversation.Answer
			err = a.perform(cmd.Context(), ask, &answer)
			return a.result(err, answer, func(w io.Writer) { fmt.Fprintln(w, answer.Text) })
		},
	})
	cmd.Flags().StringVar(&id, "id", "", "the message's id; a message with a known id is not sent again")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait for the answer")
	return cmd
}

func (a *app) agentAnswerCmd() *cobra.Command {
	limit := duration(30 * time.Second)
	cmd := a.onAgent(&cobra.Command{
		Use:   "answer NAME QUESTION OPTION",
		Short: "Answer what an agent asks on its screen, by one of the options",
		Long: `Choose an option of the question that an agent asks: by its number or its text. 'den attention' lists
the questions with their ids. The cursor of the menu is moved and seen on the option before Enter is
pressed. If the agent asks another question by then, or none, nothing is pressed (exit 3).`,
		Example: "  den agent answer coder 3f9c0a2b7d41 1",
		Args:    args(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(limit))
			defer cancel()
			var answered keeper.Answered
			err := a.keep(ctx, keeper.MethodAnswer, keeper.Answer{Agent: args[0], Question: args[1], Option: args[2], By: environment.User()}, &answered)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fault.Hintf(fault.Errorf(fault.Timeout, "'%s' is not answered within %s", args[0], limit.String()), "'den agent attach %s' shows what it asks", args[0])
			}
			if err != nil {
				return err
			}
			return a.answer(answered, func(w io.Writer) { fmt.Fprintf(w, "answered: %s\n", answered.Option) })
		},
	})
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait until the option is chosen")
	return cmd
}

// agentOrSelf returns the agent that is named, or the one that runs this
// command.
func (a *app) agentOrSelf(args []string) (string, error) {
	if name := cmp.Or(first(args), a.getenv("DEN_AGENT")); name != "" {
		return name, nil
	}
	return "", fault.Errorf(fault.Usage, "which agent? DEN_AGENT is not set")
}

func (a *app) drainingCmd() *cobra.Command {
	return a.onAgent(&cobra.Command{
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
			if err := a.keep(cmd.Context(), keeper.MethodDraining, keeper.Agent{Name: name}, &d); err != nil {
				return err
			}
			if !d.Draining {
				return fault.Errorf(fault.NotFound, "agent '%s' was not asked to finish", name)
			}
			return a.answer(d, func(w io.Writer) { fmt.Fprintln(w, d.Why) })
		},
	})
}

func (a *app) drainedCmd() *cobra.Command {
	return a.longFileFlag(&cobra.Command{
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
			err = a.keep(cmd.Context(), keeper.MethodDrained, keeper.Agent{Name: name}, nil)
			return a.result(err, map[string]any{"status": "noted"}, nil)
		},
	})
}

// reachLimit is how long a keeper may take to answer, and to tell that it has
// begun what it was asked for: it takes milliseconds unless the machine is
// overloaded. A user's time limit is for what comes then, so that a short one
// does not end the call before anybody knows whether the keeper was asked.
const reachLimit = 30 * time.Second

// A task is what a keeper is asked for and then does, whoever stops waiting.
type task struct {
	method string
	params any

	reach   time.Duration // for the keeper to answer, and then to tell that it has begun
	unknown string        // what nobody knows if it was asked and tells nothing, as in "whether it goes down"

	limit time.Duration // for the end, from the begin
	late  error         // why the wait ended then
}

// patience is how long to wait for the begin of a task: a keeper of an older
// den tells only of the end.
func patience(limit duration) time.Duration { return max(time.Duration(limit), reachLimit) }

// perform has the workspace's keeper do something and waits for the end.
func (a *app) perform(ctx context.Context, t task, result any) error {
	p, err := a.stateDir()
	if err != nil {
		return err
	}
	c, err := reachKeeper(ctx, p, t.reach)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: it was answered, or nobody waits any more.
	return t.ask(ctx, p, c, result)
}

// reachKeeper connects to a workspace's keeper within a time.
func reachKeeper(ctx context.Context, p keeper.StateDir, limit time.Duration) (*keeper.Client, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := p.Dial(within, build.Version)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, noAnswer(p, "nothing was sent to it")
	}
	return c, err
}

// ask sends the task to a keeper and waits for the end.
func (t task) ask(ctx context.Context, p keeper.StateDir, c *keeper.Client, result any) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.AfterFunc(t.reach, func() { cancel(noAnswer(p, t.unknown+" is not known")) })
	defer begin.Stop()
	err := c.Perform(within, t.method, t.params, result, func() {
		begin.Stop()
		time.AfterFunc(t.limit, func() { cancel(t.late) }) // no effect behind the end
	})
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return context.Cause(within)
	}
	return err
}

// noAnswer is the error of a keeper that runs and does not answer.
func noAnswer(p keeper.StateDir, consequence string) error {
	return fault.Hintf(fault.Errorf(fault.Timeout, "the keeper of %s does not answer: %s", p.Config, consequence), "its log is %s", p.Log())
}
