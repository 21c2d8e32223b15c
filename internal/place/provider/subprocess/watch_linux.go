package subprocess

import (
	"den/internal/place/provider/inotify"

	"golang.org/x/sys/unix"
)

// watchLocks hears of locks that are written to or let go of. A shim's lock is
// a file that it has open for writing: it writes when its command runs, the
// kernel closes it when the shim ends, and inotify tells of both. One watch for
// all sessions, and no thread.
func watchLocks(dir string) (*lockSource, error) {
	in, err := inotify.New()
	if err != nil {
		return nil, err
	}
	if _, err := in.Add(dir, unix.IN_CLOSE_WRITE|unix.IN_MODIFY); err != nil {
		in.Close()
		return nil, err
	}
	return &lockSource{changed: in.Listen(), close: in.Close}, nil
}
