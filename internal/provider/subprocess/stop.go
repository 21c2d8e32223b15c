package subprocess

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/provider/subprocess/shim"
	"den/internal/provider/unsettled"
	"den/internal/pty"
)

// Stop ends the session with every process that it started, and returns when
// they are gone and its lock is free.
func (p *Provider) Stop(ctx context.Context, name string) error {
	defer started.Reap()
	s, err := p.inspect(name)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if s.held {
		err := p.call(ctx, s, shim.MethodStop, shim.Stop{Grace: p.grace}, nil)
		switch fault.KindOf(err) {
		case "", fault.NotRunning: // done, or it ended a moment before
		case fault.Unreachable, fault.Protocol:
			return p.force(ctx, s)
		default:
			return err
		}
		if err := untilFree(ctx, p.root.lock(name)); err != nil {
			return err
		}
	}
	return p.sweepUnclosed(ctx, s)
}

// force ends a session whose shim does not answer, or speaks another
// language. Its processes are known by their marks.
func (p *Provider) force(ctx context.Context, s *state) error {
	if err := kill(ctx, home.HostMark+"="+s.record.ID); err != nil {
		return err
	}
	if err := untilFree(ctx, p.root.lock(s.record.Name)); err != nil {
		return err
	}
	return errors.Join(sweep(ctx, s.record.ID), removeSocket(s.record.Socket))
}

// sweepUnclosed ends what is left where the shim did not live to do it.
func (p *Provider) sweepUnclosed(ctx context.Context, s *state) error {
	end, err := s.dir.End()
	if err != nil || end != nil && end.ID == s.record.ID && end.Closed {
		return err
	}
	return errors.Join(sweep(ctx, s.record.ID), removeSocket(s.record.Socket))
}

// sweep kills the processes of one life of a session, found by their
// environment.
func sweep(ctx context.Context, id string) error {
	return kill(ctx, home.ProgramMark+"="+id)
}

// killLimit bounds the wait for what was killed: only a process stuck in the
// kernel takes longer.
const killLimit = 5 * time.Second

// sweepTries bounds how often processes are looked for again when none bears
// the mark and some are just unsettled.
const sweepTries = 5

// kill kills every process with the mark, and returns when none is left. It
// looks again after each kill: one may fork while others die.
func kill(ctx context.Context, mark string) error {
	ctx, cancel := context.WithTimeout(ctx, killLimit)
	defer cancel()
	var left []int
	tries := 0 // looks again because some process could not be told to be its own
	err := until(ctx, func() (bool, error) {
		left = pty.Marked(mark)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL) // Best effort: it may have ended.
		}
		if len(left) > 0 {
			return false, nil
		}
		tries++
		return tries > sweepTries || !unsettled.Await(ctx), nil
	})
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "kill processes %v: %w", left, err)
	}
	return nil
}

func removeSocket(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.Storage, "remove socket: %w", err)
	}
	return nil
}
