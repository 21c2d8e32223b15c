package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// rig is a server with a few methods, and what the tests know of it.
type rig struct {
	t        testing.TB
	server   *rpc.Server
	listener *net.UnixListener
	path     string
	waiting  chan struct{} // a "wait" has begun
	left     chan struct{} // the client of a "wait" has left
	release  chan struct{} // closed, "hold" answers
	over     chan struct{} // closed when the test is over, which a failed one may be too early
	cancel   context.CancelFunc
	served   chan struct{} // closed when Serve has returned
}

// start serves until the test ends.
func start(t testing.TB, limits rpc.Limits) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "den-rpc-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, path: filepath.Join(dir, "s"), waiting: make(chan struct{}, 1000), left: make(chan struct{}, 1000), release: make(chan struct{}), over: make(chan struct{})}
	r.server = rpc.NewServer(rpc.Config{
		Version: 1, Den: "test", ID: "id", Kind: "rig", Name: "the rig",
		Handler: r.handle, Urgent: func(method string) bool { return method == "end" }, Limits: limits,
	})
	if r.listener, err = rpc.Listen(r.path); err != nil {
		t.Fatal(err)
	}
	r.serve()
	t.Cleanup(r.stop)
	t.Cleanup(func() { close(r.over) })
	return r
}

func (r *rig) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.served = cancel, make(chan struct{})
	go func() { defer close(r.served); r.server.Serve(ctx, r.listener) }()
}

func (r *rig) stop() { r.cancel(); <-r.served }

func (r *rig) handle(ctx context.Context, call *rpc.Call) (any, error) {
	switch call.Method {
	case "echo", "end":
		return call.Params, nil
	case "who":
		return call.Den, nil
	case "length":
		return len(call.Params), nil
	case "count":
		for i := range 3 {
			if err := call.Send(i); err != nil {
				return nil, err
			}
		}
		return "done", nil
	case "flood":
		for {
			if err := call.Send(strings.Repeat("x", 1<<16)); err != nil {
				r.left <- struct{}{}
				return nil, err
			}
		}
	case "wait":
		r.waiting <- struct{}{}
		<-ctx.Done()
		r.left <- struct{}{}
		return nil, ctx.Err()
	case "hold":
		r.waiting <- struct{}{}
		select {
		case <-r.release:
		case <-r.over:
		}
		return "held", nil
	case "collect": // sums what comes until "last"
		sum := 0
		for req := range call.More {
			var n int
			if err := req.Decode(&n); err != nil {
				return nil, err
			}
			sum += n
			if req.Method == "last" {
				return sum, nil
			}
			if err := call.Send(sum); err != nil {
				return nil, err
			}
		}
		return nil, ctx.Err()
	case "bye":
		<-call.More // one of those that wait
		call.HangUp()
		return "bye", nil
	case "bad":
		return func() {}, nil
	}
	return nil, fault.Hintf(fault.Errorf(fault.NotFound, "no %s", call.Method), "ask for something else")
}

var target = rpc.Target{Version: 1, Den: "client", ID: "id", Name: "the rig", Hint: "take another"}

func (r *rig) dial() *rpc.Client {
	r.t.Helper()
	c, err := rpc.Dial(r.t.Context(), rpc.Unix(r.path), target)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// begin asks in the background and returns when the server has begun.
func (r *rig) begin(method string) (c *rpc.Client, answer <-chan error) {
	r.t.Helper()
	c = r.dial()
	done := make(chan error, 1)
	go func() { done <- c.Call(context.Background(), method, nil, nil) }()
	<-r.waiting
	return c, done
}

// raw speaks with the socket without den's client, and reads the hello.
func (r *rig) raw() (net.Conn, *bufio.Reader) {
	r.t.Helper()
	conn, err := net.Dial("unix", r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"v":1,"den":"test","id":"id"}`) {
		r.t.Fatalf("hello: %q, %v", line, err)
	}
	return conn, in
}

func (r *rig) mustEcho(c *rpc.Client) {
	r.t.Helper()
	var got string
	if err := c.Call(r.t.Context(), "echo", "x", &got); err != nil || got != "x" {
		r.t.Fatalf("echo: %q, %v", got, err)
	}
}

func TestCallAndStream(t *testing.T) {
	r := start(t, rpc.Limits{})
	c := r.dial()
	for range 3 {
		r.mustEcho(c)
	}
	var parts []string
	err := c.Stream(t.Context(), "count", nil, func(part json.RawMessage, last bool) error {
		if last {
			part = append(part, '.')
		}
		parts = append(parts, string(part))
		return nil
	})
	if err != nil || strings.Join(parts, " ") != `0 1 2 "done".` {
		t.Errorf("%v, %v", parts, err)
	}
	if err := c.Call(t.Context(), "dance", nil, nil); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) != "ask for something else" {
		t.Errorf("an error crosses as %v", err)
	}
	if err := c.Call(t.Context(), "bad", nil, nil); fault.KindOf(err) != fault.Internal {
		t.Errorf("an answer that is no JSON: %v", err)
	}
	if err := c.Call(t.Context(), "echo", func() {}, nil); err == nil || rpc.IsBroken(err) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
	r.mustEcho(c)
	if fi, err := os.Stat(r.path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", fi, err)
	}
	var who string
	if err := c.Call(t.Context(), "who", nil, &who); err != nil || who != "client" || c.Den() != "test" {
		t.Errorf("the client is den %s (%v), the server den %s", who, err, c.Den())
	}
}

// A client may send while it is answered. What the handler leaves is answered
// next.
func TestRequestsWithinStream(t *testing.T) {
	r := start(t, rpc.Limits{})
	c := r.dial()
	asking := make(chan struct{})
	go func() {
		<-asking
		for n := range 200 { // more than the queue holds
			c.Send("next", n)
		}
		c.Send("last", 1)
		c.Send("echo", "after")
	}()
	sums, final := 0, 0
	c.Send("collect", nil)
	err := c.Stream(t.Context(), "next", 0, func(part json.RawMessage, last bool) error {
		if sums++; sums == 1 { // its own request is the first
			close(asking)
		}
		if last {
			return json.Unmarshal(part, &final)
		}
		return nil
	})
	if err != nil || sums != 202 || final != 199*200/2+1 {
		t.Errorf("%d parts, sum %d, %v", sums, final, err)
	}
	var after string // the answer to the one that was left
	if err := c.Call(t.Context(), "echo", "next", &after); err != nil || after != "after" {
		t.Errorf("%q, %v", after, err)
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	r := start(t, rpc.Limits{Queue: 2})
	conn, in := r.raw()
	var sent strings.Builder
	sent.WriteString(`{"v":1,"den":"old"}` + "\n")
	for i := range 500 {
		json.NewEncoder(&sent).Encode(rpc.Request{Method: "echo", Params: json.RawMessage(strings.Repeat("1", i%300+1))})
	}
	go io.WriteString(conn, sent.String())
	for i := range 500 {
		line, err := in.ReadString('\n')
		if want := `{"result":` + strings.Repeat("1", i%300+1) + "}\n"; err != nil || line != want {
			t.Fatalf("answer %d: %q, %v", i, line, err)
		}
	}
}

// A handler can end the connection behind its answer: what waits is not
// answered.
func TestHangUp(t *testing.T) {
	r := start(t, rpc.Limits{Queue: 1})
	conn, in := r.raw()
	io.WriteString(conn, `{"v":1}`+"\n"+`{"method":"bye"}`+"\n"+strings.Repeat(`{"method":"echo","params":1}`+"\n", 10))
	if all, err := io.ReadAll(in); string(all) != `{"result":"bye"}`+"\n" {
		t.Errorf("%q, %v", all, err)
	}
	r.waitForClients(0) // also the reader, which waits for room in the queue
	r.mustEcho(r.dial())
}

func TestLeavingCancels(t *testing.T) {
	r := start(t, rpc.Limits{})
	c, answer := r.begin("wait")
	c.Close()
	<-r.left
	if err := <-answer; !rpc.IsBroken(err) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = r.dial()
	go func() { <-r.waiting; cancel() }()
	if err := c.Call(ctx, "wait", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-r.left
}

// Every refusal says why, and hurts nobody else.
func TestRefusals(t *testing.T) {
	r := start(t, rpc.Limits{Buffered: 1 << 16})
	hello := `{"v":1,"den":"x"}` + "\n"
	for sent, want := range map[string]string{
		`{"v":99,"den":"new"}` + "\n":                      "client speaks protocol 99, this rig speaks 1",
		"garbage\n":                                        `"kind":"protocol"`,
		hello + "{{{\n":                                    `"kind":"protocol"`,
		hello + `{"method":"dance"}` + "\n":                `"kind":"not_found","message":"no dance","hint":"ask for something else"`,
		hello + `{"method":"` + strings.Repeat("x", 1<<17): `"kind":"busy","message":"too many long messages at once"`,
		strings.Repeat("x", 1<<17):                         `"kind":"busy"`,
	} {
		conn, in := r.raw()
		go io.WriteString(conn, sent)
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%.40q is answered by %.300q, %v", sent, line, err)
		}
	}
	r.mustEcho(r.dial())
}

func TestTimeLimits(t *testing.T) {
	limit := 20 * time.Millisecond
	gone := func(in *bufio.Reader) {
		t.Helper()
		if _, err := io.ReadAll(in); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("the client is not cut off: %v", err)
		}
	}
	r := start(t, rpc.Limits{Hello: limit})
	_, in := r.raw()
	gone(in) // says nothing

	r = start(t, rpc.Limits{Line: limit})
	conn, in := r.raw()
	io.WriteString(conn, `{"v":1}`+"\n"+`{"method":"ec`)
	gone(in) // says half a thing

	r = start(t, rpc.Limits{Write: limit})
	conn, _ = r.raw()
	io.WriteString(conn, `{"v":1}`+"\n"+`{"method":"flood"}`+"\n")
	<-r.left // does not read

	r = start(t, rpc.Limits{Hello: limit, Line: limit, Write: limit})
	c, answer := r.begin("hold") // who waits for longer than that is not cut off
	for range 3 {
		_, in = r.raw()
		gone(in)
	}
	close(r.release)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	r.mustEcho(c)
}
