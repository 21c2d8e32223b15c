package keeper

import (
	"context"
	"net"

	"den/internal/rpc"
)

// maxClients bounds the connections of a keeper.
const maxClients = 128

// Serve answers clients until the context ends, and returns when all have had
// their answers or are cut off.
func Serve(ctx context.Context, l *net.UnixListener, handle rpc.Handler, version string) {
	rpc.NewServer(rpc.Config{
		Version: Version, Den: version, Kind: "keeper", Name: "the keeper",
		Handler: handle,
		Urgent:  func(method string) bool { return method == MethodDown },
		Limits:  rpc.Limits{Clients: maxClients},
	}).Serve(ctx, l)
}
