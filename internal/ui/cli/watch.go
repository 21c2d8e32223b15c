package cli

import (
	"context"
	"fmt"
	"io"

	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"

	"github.com/spf13/cobra"
)

func (a *app) watchCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:   "watch [SESSION]",
		Short: "Follow a session's output as plain lines",
		Long: `Print what a session shows, line by line as lines are finished, without control
sequences and without the intermediate states of progress bars. It follows the event log:
it never disturbs the session, and works for one that is over. For full-screen programs use
'den attach --read-only'.`,
		Example: "  den watch build",
		GroupID: groupSession,
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		return a.runWatch(ctx, s)
	})
}

func (a *app) runWatch(ctx context.Context, s *session.Session) error {
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	term := vt.New(vt.Config{Cols: m.Cols, Rows: m.Rows, Scrollback: replay.Scrollback})
	lines := replay.NewLines(term, func(line string) error {
		return a.answer(map[string]string{"line": line}, func(w io.Writer) { fmt.Fprintln(w, line) })
	})
	if err := s.Follow(ctx, 0, lines.Apply); err != nil {
		return err
	}
	return lines.Finish()
}
