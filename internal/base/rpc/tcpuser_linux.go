package rpc

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"den/internal/base/fault"
)

// LoopbackProcesses returns the processes that hold the other end of a TCP
// connection within this machine: one, or several that share it. Those that
// this process may not inspect are not found; where none is, it is
// fault.NotFound. A connection of another user, root apart, is fault.Denied.
func LoopbackProcesses(conn net.Conn) ([]int, error) {
	s, err := peerSocket(conn)
	if err != nil {
		return nil, err
	}
	// A socket that its process has closed has no inode, and no user either:
	// the table shows root's.
	if s.inode == "0" || s.state != established {
		return nil, fault.Errorf(fault.NotFound, "the connection from %v was closed", conn.RemoteAddr())
	}
	if s.uid != 0 && s.uid != os.Geteuid() {
		return nil, fault.Errorf(fault.Denied, "the connection from %v is one of user %d", conn.RemoteAddr(), s.uid)
	}
	holders, err := socketHolders(s.inode)
	if err == nil && len(holders) == 0 {
		err = fault.Errorf(fault.NotFound, "no process that may be inspected holds the connection from %v", conn.RemoteAddr())
	}
	return holders, err
}

// established is the state of a connection that both ends have open.
const established = "01"

// kernelSocket is a line of the kernel's table of connections.
type kernelSocket struct {
	uid          int
	inode, state string
}

// peerSocket finds the other end of a connection.
func peerSocket(conn net.Conn) (kernelSocket, error) {
	theirs, err := addrPort(conn.RemoteAddr())
	if err != nil {
		return kernelSocket{}, err
	}
	ours, err := addrPort(conn.LocalAddr())
	if err != nil {
		return kernelSocket{}, err
	}
	// An IPv4 connection of an IPv6 socket is in the table for IPv6.
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		s, found, err := findSocket(table, theirs, ours)
		if found || err != nil {
			return s, err
		}
	}
	return kernelSocket{}, fault.Errorf(fault.NotFound, "the connection from %v is not one within this machine", theirs)
}

func addrPort(a net.Addr) (netip.AddrPort, error) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fault.Errorf(fault.Unsupported, "%v is no TCP address", a)
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// findSocket looks for the socket whose own end is theirs and whose other end
// is ours.
func findSocket(table string, theirs, ours netip.AddrPort) (s kernelSocket, found bool, err error) {
	f, err := os.Open(table)
	if os.IsNotExist(err) {
		return s, false, nil // no IPv6
	}
	if err != nil {
		return s, false, err
	}
	defer f.Close() // Best effort: it was only read.
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || !strings.Contains(fields[1], ":") {
			continue
		}
		local, err := parseEntry(fields[1])
		if err != nil || local != theirs {
			continue
		}
		if remote, err := parseEntry(fields[2]); err != nil || remote != ours {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		return kernelSocket{uid: uid, inode: fields[9], state: fields[3]}, err == nil, err
	}
	return s, false, lines.Err()
}

// socketHolders returns the processes that have a socket open.
func socketHolders(inode string) ([]int, error) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var holders []int
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err == nil && holdsSocket(pid, "socket:["+inode+"]") {
			holders = append(holders, pid)
		}
	}
	return holders, nil
}

// holdsSocket reports whether a process has the link among its descriptors. It
// is false for a process that has ended or may not be inspected.
func holdsSocket(pid int, link string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	descriptors, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, d := range descriptors {
		if to, err := os.Readlink(dir + "/" + d.Name()); err == nil && to == link {
			return true
		}
	}
	return false
}

// parseEntry reads "0100007F:1A0B": words of the address in this machine's
// order of bytes, and the port.
func parseEntry(s string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("address %q", s)
	}
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 { // the words are reversed
		for word := range slices.Chunk(raw, 4) {
			slices.Reverse(word)
		}
	}
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), nil
}
