package rpc

import (
	"net"
	"testing"
)

// A request may be answered before its reader notes that it was queued. A server
// that begins to drain in between does not wait for the client's next request.
func TestDrainBehindAnAnswerThatWasQuick(t *testing.T) {
	s := NewServer(Config{})
	c := &client{server: s, raw: &net.UnixConn{}, requests: make(chan Request, 1)}
	s.clients = map[*client]struct{}{c: {}}
	c.note(0)
	c.begin()
	c.end()
	s.drain()
	c.queued()
	if !c.isStopped() {
		t.Error("it reads on")
	}
}
