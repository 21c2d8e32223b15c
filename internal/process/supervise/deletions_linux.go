package supervise

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of the kernel's notifications about a directory: that a file in it was deleted
// or renamed, and not only the first time.
const (
	dnDelete    = 0x8
	dnMultishot = -1 << 31
)

// Deletions tells that an open file may have been deleted, until end is called:
// it, or a file beside it, was deleted or renamed. It costs nothing meanwhile. It
// is for one file of a process that uses SIGIO for nothing else. Where the kernel
// does not tell, the channel stays silent.
//
// It is not inotify: of that a user has 128 instances, and there may be more
// sessions, and other programs that need some.
func Deletions(of *os.File) (deleted <-chan os.Signal, end func()) {
	heard := make(chan os.Signal, 1)                                   // full: it tells the same
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", of.Fd())) // where it is now: it may have been moved
	if err != nil {
		return heard, func() {}
	}
	f, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return heard, func() {}
	}
	signal.Notify(heard, unix.SIGIO)
	// Best effort: who asks looks for itself now and then, too.
	_, _ = unix.FcntlInt(f.Fd(), unix.F_NOTIFY, dnDelete|dnMultishot)
	return heard, func() {
		signal.Stop(heard)
		f.Close() // Best effort: it ends the notifications.
	}
}
