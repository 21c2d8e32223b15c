//go:build !linux

package rpc

import (
	"net"

	"den/internal/base/fault"
)

// LoopbackProcesses needs Linux's /proc; elsewhere it is fault.Unsupported.
func LoopbackProcesses(net.Conn) ([]int, error) {
	return nil, fault.Errorf(fault.Unsupported, "this system does not tell which process is at the other end of a connection")
}
