package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/rpc"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/tree"
	"den/internal/session/home"
)

// ask is call for what only a running session can answer.
func (p *Provider) ask(ctx context.Context, name, method string, params, result any) error {
	s, err := p.inspect(name)
	if err != nil {
		return err
	}
	if !s.running() {
		return notRunning(name)
	}
	return p.call(ctx, s, method, params, result)
}

// Interrupt sends SIGINT to the command's process group.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	return p.ask(ctx, name, shim.MethodInterrupt, struct{}{}, nil)
}

// Nudge gives the command a line on its input. It returns when the shim has
// taken it, whole: the command gets it when it reads. One that does not read
// is fault.Busy once a megabyte waits.
func (p *Provider) Nudge(ctx context.Context, name, text string) error {
	if text == "" {
		return fault.Errorf(fault.Usage, "nudge session '%s': the text is empty", name)
	}
	if err := shim.CheckSize(len(text)); err != nil {
		return fmt.Errorf("nudge session '%s': %w", name, err)
	}
	return p.ask(ctx, name, shim.MethodNudge, shim.Nudge{Text: []byte(text)}, nil)
}

// Input tells what the command has not read yet. It is on pipes: there is no
// line to edit and no limit of a line.
func (p *Provider) Input(ctx context.Context, name string) (provider.Input, error) {
	var u shim.Unread
	err := p.ask(ctx, name, shim.MethodUnread, struct{}{}, &u)
	if fault.KindOf(err) == fault.Protocol {
		err = fault.Errorf(fault.Unsupported, "input of session '%s': %w", name, err)
	}
	return provider.Input{Unread: u.Bytes, UnfinishedKnown: err == nil}, err
}

// ProcessAlive reports whether a process of the session bears one of the
// names.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	if len(processNames) == 0 {
		return p.IsRunning(ctx, name)
	}
	var a shim.AliveAnswer
	err := p.ask(ctx, name, shim.MethodAlive, shim.Alive{Names: processNames}, &a)
	if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.NotRunning {
		return false, nil
	}
	return a.Alive, err
}

// Peek returns the last lines of what the command printed.
func (p *Provider) Peek(ctx context.Context, name string, n int) (string, error) {
	if n < 0 {
		return "", fault.Errorf(fault.Usage, "peek at session '%s': %d lines cannot be shown", name, n)
	}
	var text shim.Peeked
	err := p.ask(ctx, name, shim.MethodPeek, shim.Peek{Lines: n}, &text)
	if fault.KindOf(err) != fault.NotRunning {
		return text.Text, err
	}
	// What is ending now writes its last text before it lets go of the lock.
	if err := untilFree(ctx, p.root.lock(name)); err != nil {
		return "", err
	}
	dir := p.root.session(name)
	last, err := atomicfile.Read(dir.LastFile(), 4*shim.Kept)
	switch {
	case err == nil:
		return shim.LastLines(last, false, n), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fault.Errorf(fault.Storage, "peek at session '%s': %w", name, err)
	}
	return peekLog(name, dir, n)
}

// peekLog reads the end of the log of a shim that was killed before it could
// write the last text.
func peekLog(name string, dir shim.Dir, n int) (string, error) {
	var all []byte
	var cut bool
	for _, path := range []string{dir.OldLogFile(), dir.LogFile()} {
		part, partly, err := tail(path, shim.Kept)
		if err != nil {
			return "", fault.Errorf(fault.Storage, "peek at session '%s': %w", name, err)
		}
		if partly || path == dir.OldLogFile() && len(part) > 0 {
			cut = true // nobody knows what came before the older half
		}
		all = append(all, part...)
	}
	if over := len(all) - shim.Kept; over > 0 {
		all = all[over:]
	}
	return shim.LastLines(all, cut, n), nil
}

// tail returns the last bytes of a file, nothing where there is none, and
// whether there was more.
func tail(path string, size int64) ([]byte, bool, error) {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // Best effort: it was only read.
	fi, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	from := max(0, fi.Size()-size)
	part, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
	return part, from > 0, err
}

// GetLastActivity returns when the command last wrote something, and when it
// was started where it never did.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	var a shim.Activity
	err := p.ask(ctx, name, shim.MethodActivity, struct{}{}, &a)
	if fault.KindOf(err) != fault.NotRunning {
		return a.Last, err
	}
	s, err := p.inspect(name)
	if err != nil {
		return time.Time{}, err
	}
	return s.lastWrite(), nil
}

// answerLimit bounds how long it may take to answer. Nothing that is asked
// waits for the command, but for Stop.
const answerLimit = 10 * time.Second

// patience is how long an answer may take. A stop may meet another that has
// begun, and each of them may have to kill.
func (p *Provider) patience(method string) time.Duration {
	if method == shim.MethodStop {
		return answerLimit + 2*(p.grace+tree.KillLimit)
	}
	return answerLimit
}

// call asks a session's shim for one thing and decodes the answer into
// result, unless nil. A session that has ended is fault.NotRunning, a shim
// that does not answer in time fault.Unreachable. An error after the shim was
// asked, and before it answered, wraps provider.ErrUnanswered.
func (p *Provider) call(ctx context.Context, s *state, method string, params, result any) error {
	limited, cancel := context.WithTimeout(ctx, p.patience(method))
	defer cancel()
	if err := home.CheckRunPath(s.record.Socket); err != nil {
		return fault.Errorf(fault.Unreachable, "reach the shim of session '%s': %w", s.record.Name, err)
	}
	c, err := rpc.Dial(limited, rpc.Unix(s.record.Socket), rpc.Target{
		Version: shim.Protocol, Den: p.version, ID: s.record.ID,
		Name: fmt.Sprintf("the shim of session '%s'", s.record.Name),
		Hint: "stop the session and start it anew, or use the den that started it",
	})
	if err != nil {
		return p.broken(ctx, s, err)
	}
	defer c.Close() // Best effort: the answer is here, or will not come.
	err = c.Call(limited, method, params, result)
	var answered *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return fault.Errorf(fault.KindOf(err), "session '%s': %w", s.record.Name, err)
	}
	return fmt.Errorf("%w: %w", p.broken(ctx, s, err), provider.ErrUnanswered)
}

// dying is how long a shim that broke a connection may take to end, if it
// broke it because it ends.
const dying = time.Second

// broken explains a conversation that did not come about, or ended in the
// middle: the session may have ended since it was looked at.
func (p *Provider) broken(ctx context.Context, s *state, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask session '%s': %w", s.record.Name, ctx.Err())
	}
	switch fault.KindOf(err) {
	case fault.Protocol, fault.Denied, fault.Busy: // its own word
		return err
	}
	wait, cancel := context.WithTimeout(ctx, dying)
	defer cancel()
	gone := poll.Every(wait, longestPause, func() (bool, error) {
		now, err := p.inspect(s.record.Name)
		return err == nil && (!now.running() || now.record.ID != s.record.ID), err
	})
	if gone == nil || fault.KindOf(gone) == fault.NotFound {
		return notRunning(s.record.Name)
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "reach the shim of session '%s': %w", s.record.Name, err), "it lives but does not answer; Stop ends it all the same")
}

func notRunning(name string) error {
	return fault.Hintf(fault.Errorf(fault.NotRunning, "session '%s' is not running", name), "start it first; Peek shows its last text, Exit how it ended")
}
