package inotify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// A Watcher is one descriptor for any number of directories.
type Watcher struct {
	file    *os.File
	fd      int // valid until Close
	stop    chan struct{}
	reading sync.WaitGroup
}

// New returns a watcher of nothing.
func New() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fault.Hintf(fmt.Errorf("watch sessions: %w", err), "the limit is in /proc/sys/fs/inotify/max_user_instances")
	}
	return &Watcher{file: os.NewFile(uintptr(fd), "inotify"), fd: fd, stop: make(chan struct{})}, nil
}

// Add watches a directory, and returns the number by which its events are known.
func (w *Watcher) Add(dir string, mask uint32) (int, error) {
	watch, err := unix.InotifyAddWatch(w.fd, dir, mask|unix.IN_ONLYDIR)
	if err != nil {
		return 0, fault.Hintf(fault.Errorf(fault.Storage, "watch %s: %w", dir, err), "the limit is in /proc/sys/fs/inotify/max_user_watches")
	}
	return watch, nil
}

// Remove ends the watch of a directory.
func (w *Watcher) Remove(watch int) {
	_, _ = unix.InotifyRmWatch(w.fd, uint32(watch)) // Best effort: it goes with its directory.
}

// Listen returns what comes until Close; it is called once. What is not taken
// waits in the kernel. The channel is closed when there will be no more.
func (w *Watcher) Listen() <-chan []Event {
	events := make(chan []Event)
	w.reading.Go(func() {
		defer close(events)
		buf := make([]byte, 64<<10)
		for {
			n, err := w.file.Read(buf)
			if err != nil {
				return // closed
			}
			select {
			case events <- parse(buf[:n]):
			case <-w.stop:
				return
			}
		}
	})
	return events
}

// Close ends all watches, and waits for the end of what Listen began.
func (w *Watcher) Close() {
	close(w.stop)
	w.file.Close() // Best effort: nothing was written. It breaks off the read.
	w.reading.Wait()
}

// parse takes events apart: the watch, the mask, a cookie and the length of the
// name, then the name, filled up with zeros.
func parse(raw []byte) []Event {
	var all []Event
	for len(raw) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(raw[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(raw[12:]))
		name, _, _ := bytes.Cut(raw[unix.SizeofInotifyEvent:size], []byte{0})
		all = append(all, Event{
			Watch: int(int32(binary.NativeEndian.Uint32(raw))), Name: string(name),
			Lost: mask&unix.IN_Q_OVERFLOW != 0,
		})
		raw = raw[size:]
	}
	return all
}
