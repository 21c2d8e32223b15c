package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"den/internal/base/fault"
)

// What is asked of inotify: a file renamed into a directory, and one in it
// closed that was open for writing.
const (
	movedTo     = syscall.IN_MOVED_TO
	closedWrite = syscall.IN_CLOSE_WRITE
)

// event is one change in a watched directory.
type event struct {
	watch int
	name  string
	lost  bool // the kernel's queue was full: look at everything
}

// inotify is a descriptor whose reads end when it is closed.
type inotify struct {
	file *os.File
	fd   int // valid until close
}

func newInotify() (*inotify, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, fault.Hintf(fmt.Errorf("watch sessions: %w", err), "the limit is in /proc/sys/fs/inotify/max_user_instances")
	}
	return &inotify{file: os.NewFile(uintptr(fd), "inotify"), fd: fd}, nil
}

func (in *inotify) add(dir string, mask uint32) (int, error) {
	w, err := syscall.InotifyAddWatch(in.fd, dir, mask|syscall.IN_ONLYDIR)
	if err != nil {
		return 0, fault.Hintf(fault.Errorf(fault.Storage, "watch %s: %w", dir, err), "the limit is in /proc/sys/fs/inotify/max_user_watches")
	}
	return w, nil
}

func (in *inotify) remove(watch int) {
	_, _ = syscall.InotifyRmWatch(in.fd, uint32(watch)) // Best effort: it goes with its directory.
}

func (in *inotify) close() { in.file.Close() } // Best effort: nothing was written.

// read sends what comes until stop or close, and then closes events.
func (in *inotify) read(events chan<- []event, stop <-chan struct{}) {
	defer close(events)
	buf := make([]byte, 64<<10)
	for {
		n, err := in.file.Read(buf)
		if err != nil {
			return
		}
		select {
		case events <- parseEvents(buf[:n]):
		case <-stop:
			return
		}
	}
}

func parseEvents(raw []byte) []event {
	var all []event
	for len(raw) >= syscall.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(raw[4:])
		size := syscall.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(raw[12:]))
		name, _, _ := bytes.Cut(raw[syscall.SizeofInotifyEvent:size], []byte{0})
		all = append(all, event{
			watch: int(int32(binary.NativeEndian.Uint32(raw))), name: string(name),
			lost: mask&syscall.IN_Q_OVERFLOW != 0,
		})
		raw = raw[size:]
	}
	return all
}
