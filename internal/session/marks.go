package session

import (
	"context"
	"time"

	"den/internal/cell"
	"den/internal/fault"
	"den/internal/wire"
)

// Marks makes the shell that reads the terminal now print marks: one inside the
// session's program, behind ssh, sudo or docker exec. A cell that began it, and
// asks for input since, is released. Until that shell ends, its cells are exact
// and have exit codes.
func (s *Session) Marks(ctx context.Context, timeout time.Duration) (cell.Result, error) {
	if last, err := s.Poll(""); err == nil && last.Asks() {
		if _, err := s.Release(ctx); err != nil {
			return last, err
		}
	}
	var marks wire.Marks
	if err := s.call(ctx, wire.MethodMarks, nil, &marks); err != nil {
		return cell.Result{}, err
	}
	r, err := s.Run(ctx, Run{Code: cell.InnerMarks(marks.Token), Timeout: timeout, KeepWaiting: true})
	if err != nil || r.Status == cell.Done && r.By == cell.ByShell {
		return r, err
	}
	if !r.Final() {
		if _, err := s.Release(ctx); err != nil && fault.KindOf(err) != fault.NotFound {
			return r, err
		}
	}
	return r, fault.Hintf(fault.Errorf(fault.Unsupported, "the program in the foreground prints no marks"), "it must be bash, zsh or a POSIX shell at its prompt; 'den snapshot' shows it")
}
