package pty

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// slaveID identifies a terminal device, independent of its path.
type slaveID struct {
	name string
	dev  uint64 // of the devpts mount: containers have their own
	ino  uint64
	rdev uint64
}

func checkMaster(fd int) error {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	return err
}

func identify(fd int) (slaveID, error) {
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return slaveID{}, err
	}
	id := slaveID{name: "/dev/pts/" + strconv.Itoa(n), rdev: unix.Mkdev(136+uint32(n)>>8, uint32(n)&0xff)}
	slave, err := openSlave(fd, id.name)
	if err != nil {
		return slaveID{}, fmt.Errorf("open %s: %w", id.name, err)
	}
	defer unix.Close(slave)
	var st unix.Stat_t
	if err := unix.Fstat(slave, &st); err != nil {
		return slaveID{}, fmt.Errorf("stat %s: %w", id.name, err)
	}
	id.dev, id.ino, id.rdev = uint64(st.Dev), st.Ino, uint64(st.Rdev)
	return id, nil
}

// openSlave opens the slave side. Close it soon: while it is open the master
// sees no hang-up.
func openSlave(master int, name string) (int, error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_NONBLOCK | unix.O_CLOEXEC
	// Through the master first: the path may belong to another mount of
	// devpts.
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags)
	if errno == 0 {
		return int(fd), nil
	}
	return unix.Open(name, flags, 0)
}

func getTermios(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, unix.TCGETS) }

func setTermios(fd int, t *unix.Termios) error { return unix.IoctlSetTermios(fd, unix.TCSETS, t) }

// setUTF8 makes the terminal's own line editing erase whole characters.
func setUTF8(fd int) error {
	t, err := getTermios(fd)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return setTermios(fd, t)
}

// CloseOnExec marks every descriptor from 3 up, so that no inherited one
// reaches a child by accident.
func CloseOnExec() error {
	err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// A kernel before 5.11.
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// RunsOn reports whether a process runs, has not begun to exit, and has tty as
// its controlling terminal. A terminal's number is given to the next one as
// soon as it is free: what was asked of an open terminal before RunsOn
// returned true is true of the process's own.
func RunsOn(pid int, tty *os.File) bool {
	fi, err := tty.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	major, minor := unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev))
	ps, ok := readStat(pid)
	return ok && ps.alive() && ps.flags&flagExiting == 0 && ps.tty == minor&0xff|major<<8|minor&^0xff<<12
}

// InputQueued returns the number of input bytes that the program has not read.
// In canonical mode a line counts once it is complete.
func (p *PTY) InputQueued() (n int, err error) {
	err = p.control("ask for the terminal's input queue", func(fd int) error {
		slave, err := openSlave(fd, p.id.name)
		if err != nil {
			return err
		}
		defer unix.Close(slave)
		n, err = unix.IoctlGetInt(slave, unix.TIOCINQ)
		return err
	})
	return n, err
}

// catchIgnored makes every ignored signal caught and dropped instead. This
// matters for children: exec resets a caught signal to its default but keeps
// an ignored one, and a host started with "&" or nohup would run shells that
// ignore Ctrl-C.
func catchIgnored() {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return // Best effort: without /proc there is nothing to go by.
	}
	mask, caught := ignoredMask(status), make(chan os.Signal, 1) // never read: a signal that nobody receives is dropped
	for sig := syscall.Signal(1); sig < 32; sig++ {
		if mask&(1<<(sig-1)) != 0 {
			signal.Notify(caught, sig)
		}
	}
}

// ignoredMask returns the SigIgn mask of a status file, bit 0 for signal 1.
func ignoredMask(status []byte) uint64 {
	_, rest, ok := bytes.Cut(status, []byte("\nSigIgn:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return mask
}

// InCgroup makes a child start in the cgroup of an open directory, unless nil.
func InCgroup(attr *syscall.SysProcAttr, dir *os.File) {
	if dir != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
	}
}

// Foreground returns the terminal's foreground process group, or 0, and its
// live processes below the roots, nearest to them first.
func (p *PTY) Foreground() (group int, programs []Program, err error) {
	if group, err = p.ForegroundGroup(); err != nil || group <= 0 {
		return 0, nil, err
	}
	var w treeWalk
	w.terminal(p.processRoots(), nil)
	for _, st := range w.found {
		if st.pgrp != group || !st.alive() || len(programs) == maxPrograms {
			continue
		}
		programs = append(programs, Program{
			Process: Process{st.pid, st.started}, Parent: st.ppid, Name: st.comm, Exe: exeOf(st.pid), Argv: argvOf(st.pid),
		})
	}
	return group, programs, nil
}

// processRoots returns the processes below which those of the terminal are.
func (p *PTY) processRoots() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roots == nil {
		return []int{os.Getpid()}
	}
	return p.roots
}

// exeOf returns the name of the file that a process runs, or "".
func exeOf(pid int) string {
	path, err := os.Readlink(procPath(pid, "exe"))
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSuffix(path, " (deleted)"))
}

// argvOf returns the arguments of a process, as far as maxArgv bytes of them
// go. A process that has just ended has none.
func argvOf(pid int) []string {
	var buf [maxArgv]byte
	data, err := readInto(buf[:], procPath(pid, "cmdline"))
	if err != nil {
		return nil
	}
	var argv []string
	for _, arg := range bytes.Split(bytes.TrimRight(data, "\x00"), []byte{0}) {
		argv = append(argv, strings.ToValidUTF8(string(arg), "\ufffd"))
	}
	return argv
}
