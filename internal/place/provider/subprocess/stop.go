package subprocess

import (
	"context"
	"errors"
	"os"

	"den/internal/base/fault"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/supervise"
	"den/internal/session/home"
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
	mark, err := supervise.Mark(s.record.ID, string(s.dir))
	if err != nil {
		return err
	}
	if _, err := supervise.Sweep(ctx, home.HostMark+"="+mark); err != nil {
		return err
	}
	if err := untilFree(ctx, p.root.lock(s.record.Name)); err != nil {
		return err
	}
	return errors.Join(sweep(ctx, s.dir, s.record), removeSocket(s.dir, s.record.ID))
}

// sweepUnclosed ends what is left where the shim did not live to do it.
func (p *Provider) sweepUnclosed(ctx context.Context, s *state) error {
	end, err := s.dir.End()
	if err != nil || end != nil && end.ID == s.record.ID && end.Closed {
		return err
	}
	return errors.Join(sweep(ctx, s.dir, s.record), removeSocket(s.dir, s.record.ID))
}

// sweep kills the processes of one life of a session, found by their cgroup
// and by their environment.
func sweep(ctx context.Context, dir shim.Dir, r *shim.Record) error {
	mark, err := supervise.Mark(r.ID, string(dir))
	if err != nil {
		return err
	}
	return sweepMarked(ctx, mark, r.Cgroup)
}

func sweepMarked(ctx context.Context, mark, cgroup string) error {
	_, err := supervise.SweepSession(ctx, mark, cgroup)
	return err
}

// socketKey identifies the socket of one life of a session.
func socketKey(dir shim.Dir, id string) string { return string(dir) + "\x00" + id }

// removeSocket removes the socket of a shim that is gone, where it was made: a
// record may have been written by somebody else.
func removeSocket(dir shim.Dir, id string) error {
	return home.RemoveSocket(socketKey(dir, id), os.Getenv)
}
