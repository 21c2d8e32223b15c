package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) nudgeCmd() *cobra.Command {
	var file string
	var id string
	var noWait bool
	limit := duration(time.Minute)
	cmd := longFileFlag(&cobra.Command{
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
			if err := a.perform(cmd.Context(), file, nudge, &n); err != nil {
				return withID(id, err)
			}
			return a.answer(n, func(w io.Writer) { fmt.Fprintln(w, n.Status) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
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
	var file string
	return longFileFlag(&cobra.Command{
		Use:     "nudges [NAME]",
		Short:   "List an agent's nudges and their outcomes; without a name, those of all agents",
		Long:    "List pending nudges, with what they wait for, and the last 200 finished nudges of each agent.",
		Example: "  den agent nudges coder",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req keeper.Agent
			if len(args) > 0 {
				req.Name = args[0]
			}
			var all keeper.Nudges
			if err := a.keep(cmd.Context(), file, keeper.MethodNudges, req, &all); err != nil {
				return err
			}
			return a.answer(all, func(w io.Writer) { printNudges(w, all.Nudges, time.Now()) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
}

// nudgeShown is how much of a nudge is shown in a table.
const nudgeShown = 40

func printNudges(w io.Writer, all []keeper.Nudge, now time.Time) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "NUDGE\tAGENT\tSTATUS\tAGE\tTEXT\tNOTE")
	for _, n := range all {
		text := []rune(strings.Join(strings.Fields(n.Text), " "))
		if len(text) > nudgeShown {
			text = append(text[:nudgeShown-1], '…')
		}
		note, _, _ := strings.Cut(n.Note, "\n")
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, n.Agent, n.Status, formatAge(now.Sub(n.Created)), string(text), note)
	}
	tw.Flush()
}
