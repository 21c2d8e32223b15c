package session

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// Marks makes the shell that reads the terminal now print marks: one inside the
// session's program, behind ssh, sudo or docker exec. A cell that began it, and
// asks for input since, is released. Until that shell ends, its cells are exact
// and have exit codes.
func (s *Session) Marks(ctx context.Context, timeout time.Duration) (cell.Result, error) {
	if err := s.expectNoPassword(ctx); err != nil {
		return cell.Result{}, err
	}
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

// asksPassword matches a row that asks for a secret. Behind ssh the modes of the
// terminal at the other end are not known.
var asksPassword = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(password|passphrase|passcode|verification code|\bpin\b)[^:]*:\s*$`)
})

// expectNoPassword returns an error if a password is asked for: whatever is
// typed there would be taken for it.
func (s *Session) expectNoPassword(ctx context.Context) error {
	in, err := s.InputState(ctx)
	switch {
	case fault.KindOf(err) == fault.Protocol: // an older host does not tell
		return nil
	case err != nil:
		return err
	case in.LineMode && !in.Echo || asksPassword().MatchString(in.CursorRow):
		return fault.Hintf(fault.Errorf(fault.Busy, "nothing was typed: the program asks for a password: %q", strings.TrimSpace(in.CursorRow)),
			"answer it with 'den answer' or 'den type --enter', then bring the marks when the shell shows its prompt")
	}
	return nil
}
