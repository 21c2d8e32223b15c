//go:build !linux

package home

import "net"

// peerPID returns 0 (unknown): there are no containers here that share files
// and sockets with the outside.
func peerPID(*net.UnixConn) (int, error) { return 0, nil }
