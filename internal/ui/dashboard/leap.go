package dashboard

import (
	"context"
	"errors"
	"os"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
)

// isBehind reports whether a newer segment begins after what was applied: its
// repaint is a shorter way to the end.
func (f *feed) isBehind() bool {
	names, err := os.ReadDir(f.dir.Log())
	if err != nil || len(names) == 0 || names[len(names)-1].Name() == f.newest {
		return false // the follower meets an error too, and says so
	}
	f.newest = names[len(names)-1].Name()
	return f.canLeap()
}

func (f *feed) canLeap() bool {
	seq, err := f.newestRepaint()
	return err == nil && seq > f.at.Seq
}

// newestRepaint returns the number of the last event before the newest
// segment.
func (f *feed) newestRepaint() (uint64, error) {
	log, err := eventlog.Open(f.dir.Log())
	if err != nil {
		return 0, err
	}
	segs, err := log.Segments()
	if err != nil {
		return 0, err
	}
	if len(segs) == 0 { // all were dropped while they were looked at
		return 0, fault.Errorf(fault.NotFound, "no part of the log stood still")
	}
	return segs[len(segs)-1].Seq, nil
}

// resume continues at an event after a missing part.
func (f *feed) resume(seq uint64, missing error) error {
	if err := f.reload(replay.Seq(seq)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addMissingLocked(missing)
	return nil
}

// dropped reports that segments were removed before they were read, or that
// some events were never recorded.
func dropped(err error) bool {
	var gap *eventlog.Gap
	return errors.As(err, &gap)
}

// leap skips to the repaint of the newest segment. That segment may have been
// dropped meanwhile; then there is a newer one.
func (f *feed) leap(ctx context.Context) error {
	for {
		seq, err := f.newestRepaint()
		if err == nil {
			err = f.reload(replay.Seq(seq))
		}
		if fault.KindOf(err) != fault.NotFound || f.removed() {
			return err
		}
		if !rest(ctx, retryStart) {
			return ctx.Err()
		}
	}
}
