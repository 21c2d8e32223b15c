package podhost

import (
	"encoding/json"
	"io"
	"net"
	"sync"

	"den/internal/base/rpc"

	"github.com/hashicorp/yamux"
)

// relay listens at a socket of the pod, and passes what connects there on to the
// other end of the stream, until that ends the connection which asked for it.
func relay(conn *yamux.Stream, in io.Reader, path string) {
	answer := json.NewEncoder(conn)
	l, err := rpc.Listen(path)
	if err != nil {
		_ = answer.Encode(Progress{Done: true, Error: rpc.FromError(err)}) // Best effort: a caller that left does not care.
		return
	}
	// The next relay may listen there before this one is told that its stream is
	// cut: its socket stays.
	l.SetUnlinkOnClose(false)
	_ = answer.Encode(Progress{Path: path}) // Best effort, as above.
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() {
		_, _ = io.Copy(io.Discard, in) // nothing is said but the end
		_ = l.Close()                  // Best effort: Accept reports it.
	})
	defer conn.Close() // Best effort: whoever reads sees that nobody listens.
	for {
		local, err := l.AcceptUnix()
		if err != nil {
			return
		}
		parts.Go(func() { passOver(conn.Session(), local) })
	}
}

// passOver joins a connection of the pod with a new one to the other end.
func passOver(mux *yamux.Session, local *net.UnixConn) {
	defer local.Close() // Best effort: both ways have ended.
	if rpc.CheckClient(local) != nil {
		return
	}
	remote, err := mux.OpenStream()
	if err != nil {
		return // the caller sees that nobody is there
	}
	Join(remote, remote, local, local)
}
