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
)

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
