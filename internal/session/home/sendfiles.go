package home

import (
	"fmt"
	"net"
	"os"

	"den/internal/base/fault"

	"golang.org/x/sys/unix"
)

// A lock belongs to an open file description, which can be sent over a socket.
// A host in a container thereby holds the same lock that its creator took,
// without a gap.

// sendFiles sends the lock and the host's log file, attached to one byte.
func sendFiles(conn *net.UnixConn, lock, words *os.File) error {
	rights := unix.UnixRights(int(lock.Fd()), int(words.Fd()))
	if _, _, err := conn.WriteMsgUnix([]byte{0}, rights, nil); err != nil {
		return fmt.Errorf("send the session's lock: %w", err)
	}
	return nil
}

// ReceiveFiles receives what the creator of a session sends to a host that is
// not its child: the session's held lock, and the host's log file.
func ReceiveFiles(conn *net.UnixConn) (lock, words *os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(2*4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, nil, fault.Errorf(fault.Unreachable, "take the session's lock: %w", err)
	}
	fds, err := descriptors(oob[:n])
	if err != nil {
		return nil, nil, fault.Errorf(fault.Protocol, "take the session's lock: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "lock"), os.NewFile(uintptr(fds[1]), "host.log"), nil
}

func descriptors(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range messages {
		rights, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		fds = append(fds, rights...)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	if len(fds) != 2 {
		return nil, fmt.Errorf("%d descriptors came, 2 were expected", len(fds))
	}
	return fds, nil
}
