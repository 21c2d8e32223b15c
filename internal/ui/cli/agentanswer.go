package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"

	"github.com/spf13/cobra"
)

func (a *app) agentAnswerCmd() *cobra.Command {
	var file string
	limit := duration(30 * time.Second)
	cmd := longFileFlag(&cobra.Command{
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
			err := a.keep(ctx, file, keeper.MethodAnswer, keeper.Answer{Agent: args[0], Question: args[1], Option: args[2], By: userName()}, &answered)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fault.Hintf(fault.Errorf(fault.Timeout, "'%s' is not answered within %s", args[0], limit.String()), "'den agent attach %s' shows what it asks", args[0])
			}
			if err != nil {
				return err
			}
			return a.answer(answered, func(w io.Writer) { fmt.Fprintf(w, "answered: %s\n", answered.Option) })
		},
		ValidArgsFunction: a.completeAgent,
	}, &file)
	cmd.Flags().VarP(&limit, "timeout", "t", "how long to wait until the option is chosen")
	return cmd
}
