package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// When all places are taken by clients that wait for something, others are
// told so, but what ends things is answered; and room is found again.
func TestFull(t *testing.T) {
	r := start(t, rpc.Limits{Clients: 3, Reserved: 2})
	first, _ := r.begin("wait")
	r.begin("wait")
	r.begin("wait")
	for range 5 { // one that was told so gives its reserved place back
		err := r.dial().Call(t.Context(), "echo", 1, nil)
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "the rig has 3 clients already") {
			t.Fatalf("one client too many: %v", err)
		}
	}
	for range 5 {
		c := r.dial()
		if err := c.Call(t.Context(), "end", 1, nil); err != nil {
			t.Fatalf("an urgent request: %v", err)
		}
		c.Close()
		r.waitForClients(3)
	}
	first.Close()
	r.waitForClients(2)
	r.mustEcho(r.dial())
}

// waitForClients waits until the server has noticed who left.
func (r *rig) waitForClients(n int) { poll(r.server.Clients, n) }

// poll waits until there are n of something.
func poll(count func() int, n int) {
	for count() != n {
		time.Sleep(time.Millisecond)
	}
}

// Clients that only sit there make room, the one that sat longest first.
func TestIdleClientsMakeRoom(t *testing.T) {
	r := start(t, rpc.Limits{Clients: 3, Reserved: 1, Idle: time.Nanosecond})
	busy, answer := r.begin("hold")
	oldest, newer := r.dial(), r.dial()
	for _, c := range []*rpc.Client{oldest, newer} {
		r.mustEcho(c)
		poll(r.server.IdleClients, 2) // a client has its answer a moment before the server notes so
	}
	r.mustEcho(r.dial())
	if err := oldest.Call(t.Context(), "echo", "x", nil); !rpc.IsBroken(err) {
		t.Errorf("the client that was idle longest: %v", err)
	}
	r.mustEcho(newer)
	close(r.release)
	if err := <-answer; err != nil {
		t.Errorf("a client that waits lost its place: %v", err)
	}
	r.mustEcho(busy)
}

// A client that was just let in is not cut off for the next.
func TestNewClientsKeepTheirPlaces(t *testing.T) {
	r := start(t, rpc.Limits{Clients: 2, Reserved: 1, Idle: time.Hour})
	a, b, late := r.dial(), r.dial(), r.dial()
	if _, err := rpc.Dial(t.Context(), rpc.Unix(r.path), target); fault.KindOf(err) != fault.Busy {
		t.Errorf("beyond the reserved places: %v", err)
	}
	r.mustEcho(a)
	r.mustEcho(b)
	if err := late.Call(t.Context(), "end", 1, nil); err != nil {
		t.Error(err)
	}
}

// Long requests are paid for until they are answered, and no longer.
func TestBufferedBytesAreGivenBack(t *testing.T) {
	r := start(t, rpc.Limits{Buffered: 300_000})
	long := strings.Repeat("x", 200_000)
	c := r.dial()
	for range 5 {
		var n int
		if err := c.Call(t.Context(), "length", long, &n); err != nil || n != len(long)+2 {
			t.Fatalf("%d, %v", n, err)
		}
	}
	for range 5 { // who leaves in the middle
		conn, _ := r.raw()
		conn.Write([]byte(`{"v":1}` + "\n" + `{"method":"` + long))
		conn.Close()
		r.waitForClients(1)
	}
	holder, answer := r.begin("hold") // the answer is awaited: the next ones are kept
	go func() {                       // the server stops reading in the middle of the second
		for range 2 {
			holder.Send("length", long) // Best effort: it is refused, and the connection ends.
		}
	}()
	if err := <-answer; fault.KindOf(err) != fault.Busy {
		t.Errorf("more than may be kept: %v", err)
	}
	close(r.release)
	r.waitForClients(1)
	r.mustEcho(c)
	if err := c.Call(t.Context(), "length", long, nil); err != nil {
		t.Error(err)
	}
}

// Requests that a handler takes itself are given back too, while it goes on.
func TestBufferedBytesWithinStream(t *testing.T) {
	r := start(t, rpc.Limits{Buffered: 400_000})
	conn, in := r.raw()
	fmt.Fprint(conn, `{"v":1}`+"\n"+`{"method":"collect"}`+"\n")
	for i := range 20 {
		fmt.Fprintf(conn, `{"method":"next","params":%s1}`+"\n", strings.Repeat(" ", 100_000))
		if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf(`{"stream":true,"result":%d}`+"\n", i+1) {
			t.Fatalf("%q, %v", line, err)
		}
	}
}

// Requests that never become whole are paid for too: clients that each begin a
// long line cannot make the server keep more than its bound.
func TestHalfRequestsAreBounded(t *testing.T) {
	r := start(t, rpc.Limits{Buffered: 300_000})
	half := []byte(`{"v":1}` + "\n" + `{"method":"` + strings.Repeat("x", 200_000))
	refused := make(chan string, 3)
	for range 3 {
		conn, in := r.raw()
		go func() {
			conn.Write(half) // the server may close it in the middle
			line, _ := in.ReadString('\n')
			refused <- line
		}()
	}
	for range 2 { // one of the three fits
		if line := <-refused; !strings.Contains(line, `"busy"`) {
			t.Errorf("answered %q, want busy", line)
		}
	}
	r.mustEcho(r.dial())
}
