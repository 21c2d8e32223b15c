//go:build amd64 || arm64 || riscv64 || loong64

package pty

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The parts of linux/unix_diag.h that are needed here.
const (
	sockDiagByFamily = 20
	udiagShowPeer    = 4
	unixDiagPeer     = 2
)

// unixPeer returns the inode of the socket that a Unix socket is connected to.
// It returns false if there is none or the kernel does not say.
func unixPeer(ino uint32) (peer uint32, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	// struct nlmsghdr, then struct unix_diag_req.
	var req [16 + 24]byte
	le := binary.LittleEndian
	le.PutUint32(req[0:], uint32(len(req)))
	le.PutUint16(req[4:], sockDiagByFamily)
	le.PutUint16(req[6:], unix.NLM_F_REQUEST)
	req[16] = unix.AF_UNIX
	le.PutUint32(req[20:], ^uint32(0)) // any state
	le.PutUint32(req[24:], ino)
	le.PutUint32(req[28:], udiagShowPeer)
	le.PutUint64(req[32:], ^uint64(0)) // no cookie
	if err := unix.Sendto(fd, req[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false
	}
	// The reply to a query about one socket is available when the send
	// returns.
	var buf [1024]byte
	n, _, err := unix.Recvfrom(fd, buf[:], 0)
	if err != nil {
		return 0, false
	}
	return parsePeer(buf[:n], ino)
}

// parsePeer reads one netlink message with a struct unix_diag_msg and its attributes.
func parsePeer(msg []byte, ino uint32) (peer uint32, ok bool) {
	le := binary.LittleEndian
	if len(msg) < 16+16 || le.Uint16(msg[4:]) != sockDiagByFamily || le.Uint32(msg[16+4:]) != ino {
		return 0, false
	}
	for attrs := msg[32:]; len(attrs) >= 4; {
		size, kind := int(le.Uint16(attrs)), le.Uint16(attrs[2:])
		if size < 4 || size > len(attrs) {
			return 0, false
		}
		if kind == unixDiagPeer && size >= 8 {
			return le.Uint32(attrs[4:]), true
		}
		attrs = attrs[min((size+3)&^3, len(attrs)):]
	}
	return 0, false
}
