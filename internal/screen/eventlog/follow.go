package eventlog

import (
	"context"
	"io"
	"io/fs"
	"iter"
)

// Follow yields the events in dir with a number above after, and then new ones
// as they are written. It ends when ctx is done, or after an exit event.
// Segments that were dropped before they could be read are a [*Gap]; damage is
// a [*Damage]; both are skipped as in [Log.Events]. It waits for the first
// segment of an empty directory. A directory that does not exist, or is
// removed, is fault.NotFound.
//
// It sleeps until the operating system reports a change. Only where that is
// not available does it poll.
func Follow(ctx context.Context, dir string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		// Before the first look, so that no change is between the two.
		watch := newWatch(dir)
		defer watch.close()
		f := follower{walker: walker{log: &Log{dir: dir}}, last: after}
		defer f.close()
		if err := f.start(after); err != nil {
			yield(Event{}, err)
			return
		}
		for ctx.Err() == nil {
			if !f.drain(ctx, yield) || f.exited {
				return
			}
			heard := watch.wait(ctx)
			if heard == noNews {
				return
			}
			f.newest = heard == newContent
		}
	}
}

// follower is a walker that remembers what it has yielded.
type follower struct {
	walker
	last   uint64 // the event shown last
	exited bool
	// gone is that the newest segment was seen to be removed. Others were begun
	// before that, perhaps after the last look for them.
	gone bool
}

// removed reports whether the newest segment was removed. Its directory is
// usually removed next, without an event: the open file keeps it in use.
func (f *follower) removed() bool {
	if f.cur == nil {
		return false
	}
	fi, err := f.cur.f.Stat()
	return err == nil && unlinked(fi)
}

// drain yields all available events. It returns false when the iteration is over.
func (f *follower) drain(ctx context.Context, yield func(Event, error) bool) bool {
	for ctx.Err() == nil && !f.exited {
		var ev Event
		err := f.next(&ev)
		switch {
		case err == io.EOF && f.removed() && !f.gone:
			f.gone, f.newest = true, false // look once more, whatever was heard
		case err == io.EOF && f.removed():
			yield(Event{}, notFound(&fs.PathError{Op: "follow", Path: f.log.dir, Err: fs.ErrNotExist}))
			return false
		case err == io.EOF:
			return true
		case err != nil:
			if !yield(Event{}, err) || !Missing(err) {
				return false
			}
		case ev.Repaint:
			f.gone = false
		case ev.Seq <= f.last:
			// The caller has seen the exit already: nothing more will come.
			f.exited = ev.Code == Exit
		default:
			f.gone = false
			f.last = ev.Seq
			f.exited = ev.Code == Exit
			if !yield(ev, nil) {
				return false
			}
		}
	}
	return ctx.Err() == nil
}
