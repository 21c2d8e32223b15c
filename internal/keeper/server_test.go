package keeper_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/fault"
	"den/internal/keeper"
)

// answers is a keeper that does a few things.
type answers struct {
	left atomic.Bool // a client went while it waited
}

func (a *answers) Handle(ctx context.Context, method string, params json.RawMessage, part func(any) error) (any, error) {
	switch method {
	case "echo":
		return params, nil
	case "count":
		for i := range 3 {
			if err := part(i); err != nil {
				return nil, err
			}
		}
		return struct{}{}, nil
	case "wait":
		<-ctx.Done()
		a.left.Store(true)
		return nil, ctx.Err()
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no %s", method), "ask for something else")
}

// serve runs a keeper's socket until the test ends.
func serve(t *testing.T) (p keeper.StateDir, a *answers, stop func()) {
	t.Helper()
	p = at(t)
	dir, err := os.MkdirTemp("/tmp", "den-k-") // short: sockets go here
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := keeper.Listen(socket)
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
	a = &answers{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); keeper.Serve(ctx, l, a, "test") }()
	stop = func() { cancel(); <-done }
	t.Cleanup(func() {
		stop()
		lock.Close()
		os.RemoveAll(dir) // Best effort.
	})
	return p, a, stop
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

// A client that leaves ends what it asked for.
func TestClientLeaves(t *testing.T) {
	p, a, _ := serve(t)
	c := dial(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		time.Sleep(time.Millisecond) // whether the request is there or not: both must end well
		cancel()
	}()
	if err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	c = dial(t, p)
	asked := make(chan error, 1)
	go func() { asked <- c.Call(context.Background(), "wait", nil, nil) }()
	c2 := dial(t, p)
	if err := c2.Call(t.Context(), "echo", 1, nil); err != nil { // others are answered meanwhile
		t.Fatal(err)
	}
	c.Close()
	if err := <-asked; fault.KindOf(err) != fault.Unreachable { // the keeper is there
		t.Errorf("%v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); !a.left.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the keeper does not notice")
		}
	}
}

// raw speaks with the socket without a client's manners.
func raw(t *testing.T, p keeper.StateDir) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("unix", socketOf(t, p))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) // Best effort.
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// Another version is refused with both numbers; garbage is refused, and hurts
// nobody else.
func TestRefusals(t *testing.T) {
	p, _, _ := serve(t)
	for sent, want := range map[string]string{
		`{"v":99,"den":"new"}` + "\n":                            "speaks protocol 99, this keeper speaks 1",
		"garbage\n":                                              `"kind":"protocol"`,
		`{"v":1,"den":"x"}` + "\n" + "{{{\n":                     `"kind":"protocol"`,
		`{"v":1,"den":"x"}` + "\n" + `{"method":"dance"}` + "\n": `"kind":"not_found"`,
	} {
		conn, r := raw(t, p)
		if _, err := conn.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadString('\n'); err != nil { // its hello
			t.Fatal(err)
		}
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%q is answered by %q, %v", sent, line, err)
		}
		conn.Close()
	}
	if err := dial(t, p).Call(t.Context(), "echo", 1, nil); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// A keeper of another version is told by the client, too.
func TestNewerKeeper(t *testing.T) {
	p := at(t)
	socket := filepath.Join(t.TempDir(), "s")
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

// More clients than there is room for are told so, and find room again.
func TestTooManyClients(t *testing.T) {
	p, _, _ := serve(t)
	var all []*keeper.Client
	var refused error
	for range 200 {
		c, err := p.Dial(t.Context(), "test")
		if err != nil {
			refused = err
			break
		}
		all = append(all, c)
	}
	if fault.KindOf(refused) != fault.Busy || len(all) != 128 {
		t.Errorf("%d clients, then %v", len(all), refused)
	}
	for _, c := range all {
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if c, err := p.Dial(t.Context(), "test"); err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no room again")
		}
	}
}
