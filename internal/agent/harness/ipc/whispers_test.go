package ipc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/base/rpc"
)

// agentServer is a server whose answers wait for the test.
type agentServer struct {
	*ipc.Server
	socket string
	asked  chan struct{} // a request came
	answer chan struct{} // answers it
}

func newAgentServer(t *testing.T) *agentServer {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "den-ws-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	s := &agentServer{socket: filepath.Join(dir, "s"), asked: make(chan struct{}), answer: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	s.Server = ipc.NewServer(func(context.Context, ipc.Request, *ipc.Client) (any, []string, error) {
		for _, moment := range []chan struct{}{s.asked, s.answer} { // a client that leaves is waited for too: the test takes both
			select {
			case moment <- struct{}{}:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		return nil, nil, nil
	})
	l, err := rpc.Listen(s.socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(ctx, l) })
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		os.RemoveAll(dir) // Best effort: a temporary directory.
	})
	return s
}

// hearer is a client of the agent, and what it has heard.
type hearer struct {
	*ipc.Conn
	heard []string
}

func (s *agentServer) dial(t *testing.T) *hearer {
	t.Helper()
	conn, err := ipc.Dial(t.Context(), s.socket)
	if err != nil {
		t.Fatal(err)
	}
	h := &hearer{Conn: conn}
	conn.OnWhisper = func(w ipc.Whisper) { h.heard = append(h.heard, w.Message) }
	t.Cleanup(func() { conn.Close() }) // Best effort: it may be closed.
	return h
}

// call makes a request as the agent, and does something before it is answered.
func (s *agentServer) call(t *testing.T, h *hearer, meanwhile func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := h.Call(ctx, ipc.Request{Type: ipc.Channels}, nil)
		ended <- err
	}()
	for _, moment := range []<-chan struct{}{s.asked, s.answer} {
		select {
		case <-moment:
		case err := <-ended:
			t.Fatalf("the call ended before its answer: %v", err)
		}
		if moment == (<-chan struct{})(s.asked) {
			meanwhile()
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// A whisper is heard by a call that is answered after it, whatever becomes of
// clients that were connected when it came: one that has its answer may never
// read again.
func TestWhispersAreHeardByACall(t *testing.T) {
	t.Parallel()
	nothing := func() {}
	for name, row := range map[string]struct {
		before func(t *testing.T, s *agentServer, whisper func())
		want   []string // what the next call hears
	}{
		"nobody is there": {func(_ *testing.T, _ *agentServer, whisper func()) { whisper() }, []string{"go on"}},
		"a client has its answer, and is about to leave": {func(t *testing.T, s *agentServer, whisper func()) {
			s.call(t, s.dial(t), nothing)
			whisper()
		}, []string{"go on"}},
		"a client has left": {func(t *testing.T, s *agentServer, whisper func()) {
			h := s.dial(t)
			s.call(t, h, nothing)
			h.Close()
			whisper()
		}, []string{"go on"}},
		"a call waits for its answer": {func(t *testing.T, s *agentServer, whisper func()) {
			h := s.dial(t)
			s.call(t, h, whisper)
			if !slices.Equal(h.heard, []string{"go on"}) {
				t.Errorf("the call heard %q", h.heard)
			}
		}, nil},
		"a client has left without its answer": {func(t *testing.T, s *agentServer, whisper func()) {
			conn, err := net.Dial("unix", s.socket)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(conn, `{"type":%q,"id":"1"}`+"\n", ipc.Channels); err != nil {
				t.Fatal(err)
			}
			<-s.asked
			conn.Close()
			whisper()
			<-s.answer
		}, []string{"go on"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAgentServer(t)
			row.before(t, s, func() { s.Whisper("CORRECTION", "go on") })
			next, third := s.dial(t), s.dial(t)
			s.call(t, next, nothing)
			if !slices.Equal(next.heard, row.want) {
				t.Errorf("the next call heard %q, want %q", next.heard, row.want)
			}
			s.call(t, next, nothing)
			s.call(t, third, nothing)
			if len(next.heard) != len(row.want) || len(third.heard) > 0 {
				t.Errorf("heard again: %q, %q", next.heard, third.heard)
			}
		})
	}
}

// A client that stays connected hears a whisper once, in front of its next
// answer or before.
func TestWhispersToAClientThatStays(t *testing.T) {
	t.Parallel()
	s := newAgentServer(t)
	h := s.dial(t)
	s.call(t, h, func() {})
	s.Whisper("CORRECTION", "one")
	s.Whisper("CORRECTION", "two")
	s.call(t, h, func() { s.Whisper("CORRECTION", "three") })
	s.call(t, h, func() {})
	if want := []string{"one", "two", "three"}; !slices.Equal(h.heard, want) {
		t.Errorf("heard %q, want %q", h.heard, want)
	}
}
