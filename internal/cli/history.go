package cli

import (
	"fmt"
	"io"
	"strings"

	"den/internal/fault"
	"den/internal/session"

	"github.com/spf13/cobra"
)

// linesPerStep is what one of history's -n stands for.
const linesPerStep = 5

func (a *app) historyCmd() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "history [SESSION]",
		Short:   "Print the last lines, scrollback included",
		Long:    "Print the last N×5 lines of what the session shows and of what scrolled off above.",
		Example: "  den history work\n  den history -n 20 work",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return fault.Errorf(fault.Usage, "-n is at least 1")
			}
			s, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			shot, err := s.Snapshot(cmd.Context(), session.Now(), n*linesPerStep)
			if err != nil {
				return err
			}
			lines := strings.Split(shot.Screen.PlainText(), "\n")
			lines = lines[max(0, len(lines)-n*linesPerStep):]
			return a.answer(map[string]any{"seq": shot.Seq, "lines": lines}, func(w io.Writer) {
				for _, l := range lines {
					fmt.Fprintln(w, l)
				}
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 5, "five lines for each `N`")
	return cmd
}
