package subprocess

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/tree"
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
	mark, err := tree.Mark(s.record.ID, string(s.dir))
	if err != nil {
		return err
	}
	if _, err := tree.Sweep(ctx, home.HostMark+"="+mark); err != nil {
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
	mark, err := tree.Mark(r.ID, string(dir))
	if err != nil {
		return err
	}
	return sweepMarked(ctx, mark, r.Cgroup)
}

func sweepMarked(ctx context.Context, mark, cgroup string) error {
	_, err := tree.SweepSession(ctx, mark, cgroup)
	return err
}

// socketKey identifies the socket of one life of a session.
func socketKey(dir shim.Dir, id string) string { return string(dir) + "\x00" + id }

// removeSocket removes the socket of a shim that is gone, where it was made: a
// record may have been written by somebody else.
func removeSocket(dir shim.Dir, id string) error {
	return home.RemoveSocket(socketKey(dir, id), os.Getenv)
}

// pruneKeep is how many ended sessions PruneOld leaves.
const pruneKeep = 32

// PruneOld removes what is kept of ended sessions, but for the newest.
func (p *Provider) PruneOld(ctx context.Context) error {
	_, err := p.Prune(ctx, pruneKeep)
	return err
}

// Prune removes what is kept of ended sessions, but for the newest of them, and
// returns how many it removed: an ended session has up to nine megabytes of
// output, and its name may never be used again. Locks stay: they count starts.
func (p *Provider) Prune(ctx context.Context, keep int) (int, error) {
	old, err := p.endedSessions()
	if err != nil {
		return 0, err
	}
	slices.SortFunc(old, func(a, b endedSession) int { return b.at.Compare(a.at) }) // the newest first
	removed := 0
	var errs []error
	for _, s := range old[min(keep, len(old)):] {
		if ctx.Err() != nil {
			return removed, errors.Join(append(errs, ctx.Err())...)
		}
		switch err := p.removeEnded(ctx, s); {
		case err == nil:
			removed++
		case !errors.Is(err, filelock.ErrHeld): // it is being started anew
			errs = append(errs, err)
		}
	}
	return removed, errors.Join(errs...)
}

// endedSession is one whose end is written down.
type endedSession struct {
	name, id string
	at       time.Time
}

// endedSessions lists them. One whose shim was killed has no end written down:
// it stays until its name is used again.
func (p *Provider) endedSessions() ([]endedSession, error) {
	entries, err := os.ReadDir(p.root.sessions())
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "list ended sessions: %w", err)
	}
	var all []endedSession
	for _, e := range entries {
		dir := shim.Dir(filepath.Join(p.root.sessions(), e.Name()))
		record, rerr := dir.Record()
		end, eerr := dir.End()
		if rerr != nil || eerr != nil || end == nil || end.ID != record.ID || !end.Closed {
			continue // it runs, is being started, or is damaged: who asks for it is told
		}
		all = append(all, endedSession{record.Name, record.ID, end.At})
	}
	return all, nil
}

// removeEnded removes a session, unless it is another one by now.
func (p *Provider) removeEnded(ctx context.Context, s endedSession) error {
	lock, err := filelock.Try(p.root.lock(s.name))
	if err != nil {
		return err
	}
	defer filelock.Release(lock) // Best effort: nothing was written.
	dir := p.root.session(s.name)
	if record, err := dir.Record(); err != nil || record.ID != s.id {
		return err
	}
	return discard(ctx, dir)
}
