package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// PeerProcess returns the number of the process that connected. One that has
// ended is fault.NotFound: its number may be another's by now, and whoever has
// the connection from it could be anybody.
func PeerProcess(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var pid int
	var perr error
	if err := raw.Control(func(fd uintptr) { pid, perr = peerPID(int(fd)) }); err != nil {
		return 0, err
	}
	return pid, perr
}

func peerPID(socket int) (int, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	pid := int(cred.Pid)
	if pid == 0 {
		return 0, fault.Errorf(fault.Unsupported, "the other end is in a container: its process has no number here")
	}
	process, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 6.5
		process, err = unix.PidfdOpen(pid, 0)
	}
	if err == nil {
		defer unix.Close(process) // Best effort: it was only asked.
		runs := isRunning(pid)    // before it is known that the number is still its own
		ended := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
		if _, err := unix.Poll(ended, 0); err == nil && ended[0].Revents == 0 && runs {
			return pid, nil
		}
	}
	return 0, fault.Errorf(fault.NotFound, "process %d, which connected, has ended", pid)
}

// isRunning reports whether a process has not ended. One whose first thread has
// ended counts as one that has: nothing tells what it is.
func isRunning(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndexByte(stat, ')') // of its name, which may have any character in it
	return err == nil && at >= 0 && !bytes.HasPrefix(stat[at:], []byte(") Z")) && !bytes.HasPrefix(stat[at:], []byte(") X"))
}

func peerUID(socket int) (int, error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
