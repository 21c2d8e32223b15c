package cli

import (
	"context"
	"fmt"
	"io"

	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) releaseCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:   "release [SESSION]",
		Short: "Give up the running cell and leave its program running",
		Long: `End the active cell without touching its program, so that the session takes code again, and
say what runs in the foreground. Use it for a cell that started a program which does
not end, such as a REPL, ssh or an editor. Later code goes to that program.`,
		Example: "  den run work 'python3 -q'; den release work; den run work 'print(1)'",
		GroupID: groupCell,
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		r, err := s.Release(ctx)
		if err != nil {
			return err
		}
		return a.answer(r, func(w io.Writer) {
			fmt.Fprintf(w, "released cell %s; in the foreground: %s\n", r.CellID, r.Why)
		})
	})
}
