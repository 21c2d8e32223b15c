package keeper_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
)

// answers is a keeper that does a few things.
type answers struct {
	waiting chan struct{} // somebody waits
}

func (a *answers) Handle(ctx context.Context, call *rpc.Call) (any, error) {
	switch call.Method {
	case "echo", keeper.MethodDown:
		return call.Params, nil
	case "count":
		for i := range 3 {
			if err := call.Send(i); err != nil {
				return nil, err
			}
		}
		return struct{}{}, nil
	case "wait":
		a.waiting <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no %s", call.Method), "ask for something else")
}

// serve runs a keeper's socket until the test ends.
func serve(t *testing.T) (p keeper.StateDir, a *answers, stop func()) {
	t.Helper()
	p, socket := kept(t)
	l, err := rpc.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(keeper.Record{PID: os.Getpid(), Socket: socket}); err != nil {
		t.Fatal(err)
	}
	lock, err := p.Lock()
	if err != nil {
		t.Fatal(err)
	}
	a = &answers{waiting: make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); keeper.NewServer(a.Handle, "test").Serve(ctx, l) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(func() {
		stop()
		lock.Close()
	})
	return p, a, stop
}

// kept returns a workspace that was kept once, and the path of its keeper's
// socket.
func kept(t *testing.T) (keeper.StateDir, string) {
	t.Helper()
	m := newMachine(t)
	p, caller := m.workspace("den.toml"), m.caller("h")
	socket, err := m.establish(p, caller).Socket(caller.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return p, socket
}

func dial(t *testing.T, p keeper.StateDir) *keeper.Client {
	t.Helper()
	c, err := p.Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) // Best effort: most are closed by then.
	return c
}

func TestCallAndStream(t *testing.T) {
	p, _, _ := serve(t)
	c := dial(t, p)
	for range 3 { // a connection takes one request after the other
		var got map[string]int
		if err := c.Call(t.Context(), "echo", map[string]int{"n": 42}, &got); err != nil || got["n"] != 42 {
			t.Fatalf("%v, %v", got, err)
		}
	}
	var parts []string
	err := c.Stream(t.Context(), "count", nil, func(raw json.RawMessage) error { parts = append(parts, string(raw)); return nil })
	if err != nil || strings.Join(parts, " ") != "0 1 2" {
		t.Errorf("%v, %v", parts, err)
	}
	if err := c.Call(t.Context(), "dance", nil, nil); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) != "ask for something else" {
		t.Errorf("an error crosses as %v", err)
	}
	if fi, err := os.Stat(socketOf(t, p)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", fi, err)
	}
}

func socketOf(t *testing.T, p keeper.StateDir) string {
	t.Helper()
	r, err := p.Load()
	if err != nil {
		t.Fatal(err)
	}
	return r.Socket
}

// A keeper of another version is told by the client, too.
func TestNewerKeeper(t *testing.T) {
	p, socket := kept(t)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Write([]byte(`{"v":2,"den":"newer"}` + "\n"))
		}
	}()
	if err := p.Save(keeper.Record{Socket: socket}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Dial(t.Context(), "test"); fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "speaks protocol 2, this den speaks 1") {
		t.Errorf("%v", err)
	}
}

// When a keeper ends, those who wait are told, and the next caller hears that
// there is none.
func TestServerEnds(t *testing.T) {
	p, _, stop := serve(t)
	c, idle := dial(t, p), dial(t, p)
	asked := make(chan error, 1)
	go func() { asked <- c.Call(context.Background(), "wait", nil, nil) }()
	if err := dial(t, p).Call(t.Context(), "echo", 1, nil); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-asked; err == nil {
		t.Error("an unanswered question has no error")
	}
	if err := idle.Call(t.Context(), "echo", 1, nil); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("by a connection from before: %v", err)
	}
	if _, err := p.Dial(t.Context(), "test"); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("after its end: %v", err)
	}
}

// A keeper with as many clients as it takes is still told to end its agents.
func TestDownNeedsNoPlace(t *testing.T) {
	p, a, _ := serve(t)
	for range 128 {
		c := dial(t, p)
		go c.Call(context.Background(), "wait", nil, nil) // until the test ends
		<-a.waiting
	}
	if err := dial(t, p).Call(t.Context(), "echo", 1, nil); fault.KindOf(err) != fault.Busy {
		t.Errorf("one client too many: %v", err)
	}
	if err := dial(t, p).Call(t.Context(), keeper.MethodDown, nil, nil); err != nil {
		t.Errorf("down: %v", err)
	}
}

// A record that names another socket than the keeper's own is refused, and
// nobody is called.
func TestRecordChoosesNoSocket(t *testing.T) {
	p, socket := kept(t)
	lock, err := p.Lock()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	open := filepath.Join(t.TempDir(), "open")
	for _, other := range []string{
		filepath.Join(filepath.Dir(socket), "engine.sock"),
		filepath.Join(filepath.Dir(socket), "0123456789abcdef"), // another of den's
		filepath.Join(open, filepath.Base(socket)),              // where others may listen
	} {
		if err := os.MkdirAll(filepath.Dir(other), 0o755); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", other)
		if err != nil {
			t.Fatal(err)
		}
		called := make(chan struct{})
		go func() {
			if _, err := l.Accept(); err == nil {
				close(called)
			}
		}()
		if err := p.Save(keeper.Record{Socket: other}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Dial(t.Context(), "test"); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %v, want denied", other, err)
		}
		select {
		case <-called:
			t.Errorf("%s was called", other)
		default:
		}
		l.Close()
	}
}
