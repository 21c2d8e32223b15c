//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func procFD(pid int, dir string, fd int) string {
	return procPath(pid, dir) + "/" + strconv.Itoa(fd)
}

// link returns the target of a thread's descriptor in /proc.
func (w *probing) link(t *thread, fd int) (string, error) {
	return readLink(procFD(t.proc.pid, "fd", fd))
}

func readLink(path string) (string, error) {
	var buf [256]byte
	n, err := unix.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// add adds one descriptor to the set. writing is set if the thread waits until
// it can write, which always depends on others.
func (w *probing) add(set *waitSet, t *thread, fd int, writing bool) {
	link, err := w.link(t, fd)
	if err != nil {
		set.unreadable(err, "descriptor "+strconv.Itoa(fd))
		return
	}
	if writing {
		set.foreign("a write to " + link)
		return
	}
	switch {
	case w.isTerminal(t, fd, link):
		set.terminal++
	case link == "anon_inode:[eventfd]", link == "anon_inode:[signalfd]":
		set.own++
	case link == "anon_inode:[timerfd]":
		set.own++
		data, err := readInto(w.buf[:], procFD(t.proc.pid, "fdinfo", fd))
		if err != nil {
			set.unreadable(err, "its timer")
		}
		if left := timerLeft(data); left > 0 && (set.timer == 0 || left < set.timer) {
			set.timer = left
		}
	case strings.HasPrefix(link, "pipe:["):
		switch ends := w.pipeEnds(t.proc.pid, link, true); {
		case ends.others > 0:
			set.foreign(link)
		case ends.members > 0:
			set.sibling++
		case ends.own > 0:
			set.own++
		default:
			set.foreign(link)
		}
	case strings.HasPrefix(link, "socket:["):
		if w.ownSocket(t.proc.pid, link) {
			set.own++
			return
		}
		set.foreign(link)
	default:
		set.foreign(link)
	}
}

func (s *waitSet) foreign(what string) {
	if s.outside == "" {
		s.outside = what
	}
}

// isTerminal reports whether a descriptor is this terminal: by device number,
// because paths differ between mounts, or as the controlling terminal.
func (w *probing) isTerminal(t *thread, fd int, link string) bool {
	if !strings.HasPrefix(link, "/") {
		return false
	}
	var st unix.Stat_t
	if unix.Stat(procFD(t.proc.pid, "fd", fd), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	if uint64(st.Dev) == w.id.dev && st.Ino == w.id.ino {
		return true
	}
	return uint64(st.Rdev) == unix.Mkdev(5, 0) && t.proc.tty == uint32(w.id.rdev)
}

// pipeHolders counts the processes that hold the other end of a pipe.
type pipeHolders struct{ own, members, others int }

// pipeEnds counts the processes below the roots that hold the writing or the
// reading end of a pipe. Pipes are inherited, so all holders of one that was
// created on this terminal are there.
func (w *probing) pipeEnds(pid int, link string, writing bool) pipeHolders {
	var h pipeHolders
	for i := range w.walk.found {
		p := &w.walk.found[i]
		if !p.alive() || !holds(p.pid, link, writing) {
			continue
		}
		switch {
		case p.pid == pid:
			h.own++
		case p.pgrp == w.group:
			h.members++
		default:
			h.others++
		}
	}
	return h
}

// holds reports whether a process has the given end of a pipe open.
func holds(pid int, link string, writing bool) bool {
	found := false
	eachFD(pid, func(fd int) bool {
		if l, err := readLink(procFD(pid, "fd", fd)); err != nil || l != link {
			return true
		}
		var buf [512]byte
		data, err := readInto(buf[:], procFD(pid, "fdinfo", fd))
		r, wr := accessMode(data)
		found = err != nil || writing && wr || !writing && r
		return !found
	})
	return found
}

// eachFD calls f for every descriptor of a process until f returns false.
func eachFD(pid int, f func(fd int) bool) {
	var buf [2048]byte
	for _, fd := range listNumbers(nil, buf[:], procPath(pid, "fd")) {
		if !f(fd) {
			return
		}
	}
}

// ownSocket reports whether a socket's peer belongs to the same process and no
// other process below the roots has it. Event loops use such pairs to wake
// themselves.
func (w *probing) ownSocket(pid int, link string) bool {
	ino, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"), 10, 32)
	if err != nil {
		return false
	}
	peer, ok := unixPeer(uint32(ino))
	if !ok {
		return false
	}
	peerLink := "socket:[" + strconv.FormatUint(uint64(peer), 10) + "]"
	own := false
	for i := range w.walk.found {
		p := &w.walk.found[i]
		if !p.alive() {
			continue
		}
		has := false
		eachFD(p.pid, func(fd int) bool {
			l, _ := readLink(procFD(p.pid, "fd", fd))
			has = l == peerLink
			return !has
		})
		if has && p.pid != pid {
			return false
		}
		own = own || has
	}
	return own
}
