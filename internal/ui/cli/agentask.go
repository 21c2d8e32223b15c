package cli

import (
	"den/internal/agent/conversation"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/base/ident"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

// keeperGrace is how much longer than the keeper its client waits.
const keeperGrace = 2 * time.Second

func (a *app) askCmd() *cobra.Command {
	var file, id string
	limit := duration(10 * time.Minute)
	cmd := longFileFlag(&cobra.Command{
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
			if err := a.perform(cmd.Context(), file, ask, &answer); err != nil {
				return err
			}
			return a.answer(answer, func(w io.Writer) { fmt.Fprintln(w, answer.Text) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().StringVar(&id, "id", "", "the message's id; a message with a known id is not sent again")
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait for the answer")
	return cmd
}
