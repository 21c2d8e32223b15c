package tmux

import (
	"os"
	"syscall"
	"unsafe"
)

// openNoControl opens a terminal without taking it for one's own.
const openNoControl = syscall.O_NOCTTY | syscall.O_NONBLOCK

// queued returns how many bytes of input a terminal's program has not read. In
// canonical mode a line counts once it is complete.
func queued(tty *os.File) (n int, err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return 0, err
	}
	var count int32
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
	}); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return int(count), nil
}

// lineModes reports whether a terminal echoes what is typed, and whether it
// hands over whole lines.
func lineModes(tty *os.File) (echo, lineMode bool, err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return false, false, err
	}
	var modes syscall.Termios
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&modes)))
	}); err != nil {
		return false, false, err
	}
	if errno != 0 {
		return false, false, errno
	}
	return modes.Lflag&syscall.ECHO != 0, modes.Lflag&syscall.ICANON != 0, nil
}
