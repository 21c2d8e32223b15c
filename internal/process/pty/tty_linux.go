package pty

import (
	"fmt"
	"os"
	"strconv"
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

// setUTF8 makes the terminal's own line editing erase whole characters.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
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
