package subprocess

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// lockSource tells of locks that are written to or let go of. A shim's lock is
// a file that it has open for writing: it writes when its command runs, the
// kernel closes it when the shim ends, and inotify tells of both. One watch for
// all sessions, and no thread.
type lockSource struct {
	changed chan string // the lock's file name, "" for any of them; what is not taken waits in the kernel
	file    *os.File
	stop    chan struct{}
	reading sync.WaitGroup
}

func watchLocks(dir string) (*lockSource, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fault.Hintf(fault.Errorf(fault.Internal, "watch sessions: %w", err), "the limit is in /proc/sys/fs/inotify/max_user_instances")
	}
	s := &lockSource{changed: make(chan string), file: os.NewFile(uintptr(fd), "inotify"), stop: make(chan struct{})}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MODIFY|unix.IN_ONLYDIR); err != nil {
		s.file.Close() // Best effort: nothing was written.
		return nil, fault.Hintf(fault.Errorf(fault.Storage, "watch %s: %w", dir, err), "the limit is in /proc/sys/fs/inotify/max_user_watches")
	}
	s.reading.Go(s.read)
	return s, nil
}

func (s *lockSource) close() {
	close(s.stop)
	s.file.Close() // breaks off the read
	s.reading.Wait()
}

func (s *lockSource) read() {
	defer close(s.changed)
	buf := make([]byte, 16<<10)
	for {
		n, err := s.file.Read(buf)
		if err != nil {
			return // closed
		}
		for _, file := range changedFiles(buf[:n]) {
			select {
			case s.changed <- file:
			case <-s.stop:
				return
			}
		}
	}
}

// changedFiles takes inotify's events apart: the watch, the mask, a cookie
// and the length of the name, then the name, filled up with zeros.
func changedFiles(raw []byte) []string {
	var files []string
	for len(raw) >= unix.SizeofInotifyEvent {
		mask := binary.NativeEndian.Uint32(raw[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(raw[12:]))
		name, _, _ := bytes.Cut(raw[unix.SizeofInotifyEvent:end], []byte{0})
		if len(name) > 0 || mask&unix.IN_Q_OVERFLOW != 0 {
			files = append(files, string(name))
		}
		raw = raw[end:]
	}
	return files
}
