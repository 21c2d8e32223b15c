package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"den/internal/base/fault"
	"den/internal/session"

	"github.com/spf13/cobra"
)

// linesPerStep is the number of lines per unit of history's -n.
const linesPerStep = 5

func (a *app) historyCmd() *cobra.Command {
	var n int
	cmd := a.onSession(&cobra.Command{
		Use:     "history [SESSION]",
		Short:   "Print the last lines, scrollback included",
		Long:    "Print the last N×5 lines of the session, scrollback included.",
		Example: "  den history work\n  den history -n 20 work",
		GroupID: groupSession,
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		if n < 1 {
			return fault.Errorf(fault.Usage, "-n is at least 1")
		}
		shot, err := s.Snapshot(ctx, session.Now(), n*linesPerStep)
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
	})
	cmd.Flags().IntVarP(&n, "lines", "n", 5, "five lines for each `N`")
	return cmd
}
