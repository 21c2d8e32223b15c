package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"den/internal/base/rpc"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session/wire"
)

// raw opens the session's socket without den's own client.
func (w *world) raw(name string) (net.Conn, *bufio.Reader) {
	w.t.Helper()
	d, err := w.home.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := net.Dial("unix", m.Socket)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

// A client that does not read does not hold the session up; when it reads
// again it gets the screen as it is.
func TestSlowClientCatchesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("new", "s", "bash", "--norc")
	w.do("wait", "s", "--ready")
	c, in := w.raw("s")
	fmt.Fprintln(c, `{"v":1,"den":"test"}`)
	fmt.Fprintln(c, `{"method":"attach","params":{"cols":80,"rows":24,"read_only":true}}`)
	w.do("type", "s", "seq 1 500000; echo all''done", "--enter")
	w.do("wait", "s", "--text", "alldone", "-t", "120s")
	// Now read all there is.
	term := vt.New(vt.Config{Cols: 120, Rows: 40})
	deadline := time.Now().Add(3 * time.Minute)
	if err := c.SetReadDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	repaints := 0
	for !strings.Contains(screen.Text(term), "alldone\n$") {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the stream ended: %v\n%s", err, screen.Text(term))
		}
		var resp rpc.Response
		if err := json.Unmarshal(line, &resp); err != nil {
			t.Fatal(err)
		}
		var f wire.Frame
		if resp.Result == nil || json.Unmarshal(resp.Result, &f) != nil {
			continue // the hello
		}
		if f.Repaint {
			repaints++
			term = vt.New(vt.Config{Cols: f.Cols, Rows: f.Rows})
		}
		term.Write(f.Data)
	}
	if repaints < 2 {
		t.Errorf("%d repaints: it was not cut off, or got no fresh screen", repaints)
	}
}

func TestHostileClients(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "cat")
	expect := func(what, send string, want string) {
		t.Helper()
		c, in := w.raw("s")
		go io.WriteString(c, send)
		if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(in)
		if err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", what, err)
		}
		if !strings.Contains(string(all), want) {
			t.Errorf("%s: got %.300q, want %q", what, all, want)
		}
	}
	hello := "{\"v\":1,\"den\":\"test\"}\n"
	expect("another version", "{\"v\":99,\"den\":\"new\"}\n", `client speaks protocol 99, this host speaks 1`)
	expect("garbage", "GET / HTTP/1.1\r\n\r\n", `"kind":"protocol"`)
	expect("garbage after hello", hello+"\x00\x01\x02\n", `"kind":"protocol"`)
	expect("too long a line", hello+strings.Repeat("x", rpc.MaxRequest+4096), `message is longer than`)

	c, in := w.raw("s")
	io.WriteString(c, hello+`{"method":"nosuch"}`+"\n"+`{"method":"resize","params":{"cols":"x"}}`+"\n"+`{"method":"resize","params":{"cols":0,"rows":-1}}`+"\n")
	for _, want := range []string{`"v":1`, "does not know the method", "not understood", "columns go from 1"} {
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("got %q (%v), want %q", line, err, want)
		}
	}
	// The session is as it was.
	w.do("type", "s", "alive", "--enter")
	w.do("wait", "s", "--text", "alive")
}

// A host whose places are all taken by clients that wait says so, but ends the
// session when it is asked to. Clients that only sit there make room.
func TestTooManyClients(t *testing.T) {
	w := newWorld(t)
	w.do("new", "s", "cat")
	var kept []net.Conn
	for range 256 {
		c, in := w.raw("s")
		fmt.Fprintln(c, `{"v":1,"den":"test"}`)
		fmt.Fprintln(c, `{"method":"status"}`)
		fmt.Fprintln(c, `{"method":"wait","params":{"exit":true}}`)
		for range 2 { // the hello and the status: the wait has begun, or will before anything else
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		kept = append(kept, c)
	}
	_, stderr, code := w.try("type", "s", "x")
	if code != 5 || !strings.Contains(stderr, "has 256 clients already") {
		t.Errorf("one more client: exit %d: %s", code, stderr)
	}
	kept[0].Close()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, _, code = w.try("type", "s", "x"); code == 0 {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the place of a client that left is not free again")
		}
	}
	c, in := w.raw("s") // takes the place again
	fmt.Fprintln(c, `{"v":1,"den":"test"}`+"\n"+`{"method":"status"}`+"\n"+`{"method":"wait","params":{"exit":true}}`)
	for range 2 {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	w.do("kill", "s")
}

// A program that does not read its input does not block its host.
func TestInputThatNobodyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("new", "s", "sh", "-c", "stty raw -echo; echo on; sleep 1000")
	w.do("wait", "s", "--text", "on")
	big := strings.Repeat("0123456789abcdef", 4<<20/16)
	for range 8 {
		w.pasteIn("s", big)
	}
	if _, stderr, code := w.tryStdin(big, "paste", "s", "-"); code != 5 || !strings.Contains(stderr, "does not read its input") {
		t.Errorf("more than the bound: exit %d: %s", code, stderr)
	}
	if out := w.do("snapshot", "s"); !strings.Contains(out, "on") {
		t.Errorf("snapshot: %s", out)
	}
	w.do("kill", "s")
}
