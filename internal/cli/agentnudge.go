package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"den/internal/fault"
	"den/internal/ident"
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
		Short: "Type text and Enter into an agent, whole and alone, when it is ready",
		Long: `Give an agent a message. It is kept on disk and typed when the agent waits for input, no
dialog is open, nobody types and nothing stands in its input line. "taken" means that the agent
itself took it, "sent" that it was typed and nothing shows more. --id names it: the same id again
is the same nudge, so a call that failed can be repeated.`,
		Example: "  den agent nudge coder 'run the tests'\n  cat task.md | den agent nudge coder -",
		Args:    args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.textOrStdin(args[1:])
			if err != nil {
				return err
			}
			if id == "" {
				id = ident.New(time.Now())
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(limit))
			defer cancel()
			var n keeper.Nudged
			err = a.keep(ctx, file, keeper.MethodNudge, keeper.Agent{Name: args[0], NudgeID: id, Text: strings.TrimRight(text, "\n"), Wait: !noWait}, &n)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fault.Hintf(fault.Errorf(fault.Timeout, "the nudge to '%s' has not gone in within %s", args[0], limit.String()), "it is kept, and typed as soon as the agent takes input; 'den ps' tells what it does")
			}
			if err != nil {
				return withID(id, err)
			}
			return a.answer(n, func(w io.Writer) { fmt.Fprintln(w, n.Status) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().StringVar(&id, "id", "", "the nudge's name; one that the agent has had is not given again")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "return when it is kept")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait until it has gone in")
	return cmd
}

// withID names the nudge in an error, so that the call can be repeated.
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
		Short:   "List an agent's nudges and what came of them; without a name those of all",
		Long:    "List what is kept of nudges: those that wait, with what they wait for, and the last 200 of each agent\nthat came to their end.",
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

// nudgeShown is how much of a nudge stands in a table.
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, n.Agent, n.Status, age(now.Sub(n.Created)), string(text), note)
	}
	tw.Flush()
}
