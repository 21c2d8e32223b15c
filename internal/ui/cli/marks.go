package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) marksCmd() *cobra.Command {
	timeout := duration(10 * time.Second)
	cmd := a.onSession(&cobra.Command{
		Use:   "marks [SESSION]",
		Short: "Bring shell marks into a shell behind ssh, sudo or docker exec",
		Long: `Type code into the shell that is at its prompt now, so that it prints marks. It may be bash, zsh
or a POSIX shell inside the session's program. Cells are then as exact as in a local
shell, with exit codes, until that shell ends. The cell that started that shell is released.`,
		Example: "  den run work 'ssh host'; den marks work; den run work 'make test' -j",
		GroupID: groupCell,
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		r, err := s.Marks(ctx, time.Duration(timeout))
		if err != nil {
			return err
		}
		return a.answer(map[string]string{"cell_id": r.CellID, "status": "marked"}, func(w io.Writer) { fmt.Fprintln(w, "marked") })
	})
	cmd.Flags().VarP(&timeout, "timeout", "t", "how long to wait for the shell")
	return cmd
}
