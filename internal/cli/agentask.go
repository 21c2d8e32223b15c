package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"den/internal/fault"
	"den/internal/harness/ipc"
	"den/internal/ident"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) askCmd() *cobra.Command {
	var file, id string
	limit := duration(10 * time.Minute)
	cmd := longFileFlag(&cobra.Command{
		Use:   "ask NAME TEXT|-",
		Short: "Send an agent a message and print its answer",
		Long: `Send an agent a message, wait until it has ended its turn and print the answer. With -j the answer has
the tokens and the cost of the turn, how long it took, the tools it used and how the answer is known.

Agents may ask each other. A question that would make two agents wait for each other is refused.
If the time is over before the answer comes, the message stays: the same --id waits for it again.`,
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
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(limit))
			defer cancel()
			req := keeper.Agent{Name: args[0], NudgeID: id, Text: strings.TrimRight(text, "\n"), Caller: a.getenv("DEN_AGENT")}
			var answer ipc.Answer
			err = a.keep(ctx, file, keeper.MethodAsk, req, &answer)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fault.Hintf(fault.Errorf(fault.Timeout, "'%s' has not answered within %s", args[0], limit.String()), "it goes on: 'den agent ask --id %s' with the same text waits again", id)
			}
			if err != nil {
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
