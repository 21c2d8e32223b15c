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

	"den/internal/fault"
)

// LoopbackUser returns the user whose process is at the other end of a TCP
// connection within this machine. The kernel tells in its table of
// connections.
func LoopbackUser(conn net.Conn) (int, error) {
	theirs, err := addrPort(conn.RemoteAddr())
	if err != nil {
		return 0, err
	}
	ours, err := addrPort(conn.LocalAddr())
	if err != nil {
		return 0, err
	}
	// An IPv4 connection of an IPv6 socket is in the table for IPv6.
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		uid, found, err := findUser(table, theirs, ours)
		if found || err != nil {
			return uid, err
		}
	}
	return 0, fault.Errorf(fault.NotFound, "the connection from %v is not one within this machine", theirs)
}

func addrPort(a net.Addr) (netip.AddrPort, error) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, fault.Errorf(fault.Unsupported, "%v is no TCP address", a)
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}

// findUser looks for the socket whose own end is theirs and whose other end is
// ours.
func findUser(table string, theirs, ours netip.AddrPort) (uid int, found bool, err error) {
	f, err := os.Open(table)
	if os.IsNotExist(err) {
		return 0, false, nil // no IPv6
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close() // Best effort: it was only read.
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !strings.Contains(fields[1], ":") {
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
		return uid, err == nil, err
	}
	return 0, false, lines.Err()
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
