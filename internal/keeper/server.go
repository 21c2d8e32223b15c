package keeper

import "den/internal/base/rpc"

// maxClients bounds the connections of a keeper.
const maxClients = 128

// NewServer returns a server for the clients of a keeper.
func NewServer(handle rpc.Handler, version string) *rpc.Server {
	return rpc.NewServer(rpc.Config{
		Version: Version, Den: version, Kind: "keeper", Name: "the keeper",
		Handler: handle,
		Urgent:  func(method string) bool { return method == MethodDown },
		Limits:  rpc.Limits{Clients: maxClients},
	})
}
