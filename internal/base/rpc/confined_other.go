//go:build !linux

package rpc

import "net"

// PeerConfined is for Linux: elsewhere there are no sandboxes.
func PeerConfined(*net.UnixConn) bool { return false }

// KnowsPeers is for Linux.
func KnowsPeers() bool { return false }
