package shim

import (
	"fmt"

	"den/internal/base/rpc"
)

// maxClients bounds the connections of a shim.
const maxClients = 64

// newServer answers clients on the session's socket.
func newServer(s *shim) *rpc.Server {
	return rpc.NewServer(rpc.Config{
		Version: Protocol, Den: s.version, ID: s.boot.ID,
		Kind: "shim", Name: fmt.Sprintf("session '%s'", s.boot.Name),
		Handler: s.handle,
		Urgent:  func(method string) bool { return method == MethodStop },
		Limits:  rpc.Limits{Clients: maxClients},
	})
}
