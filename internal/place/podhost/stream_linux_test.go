package podhost_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"den/internal/place/podhost"
)

// runOver runs a command over the pod's stream.
func (p *pod) runOver(in io.Reader, argv ...string) (out, errs string, code int) {
	p.Helper()
	conn, err := p.open(podhost.Header{To: podhost.ToExec})(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	defer conn.Close()
	var outBuf, errBuf bytes.Buffer
	code, err = podhost.RunOver(conn, podhost.Command{Argv: argv, Mark: "m"}, in, &outBuf, &errBuf)
	if err != nil {
		p.Fatal(err)
	}
	return outBuf.String(), errBuf.String(), code
}

// A command over the stream has its input, and answers with its outputs and its
// status.
func TestCommandOverTheStream(t *testing.T) {
	p := newPod(t)
	if out, errs, code := p.runOver(strings.NewReader("typed"), "/bin/sh", "-c", "cat; echo bad >&2; exit 3"); out != "typed" || errs != "bad\n" || code != 3 {
		t.Errorf("%q, %q, status %d", out, errs, code)
	}
	if _, _, code := p.runOver(nil, "/bin/sh", "-c", "kill -9 $$"); code != 137 {
		t.Errorf("status %d of a command that was killed", code)
	}
	if _, _, code := p.runOver(nil, "no-such-program"); code != 127 {
		t.Errorf("status %d of what is not there", code)
	}
	large := strings.Repeat("0123456789abcde\n", 1<<16)
	if out, _, code := p.runOver(strings.NewReader(large), "cat"); out != large || code != 0 {
		t.Errorf("%d bytes of %d came back, status %d", len(out), len(large), code)
	}
}

// endless is input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A command need not read its input, and is not held up by it.
func TestCommandLeavesInputUnread(t *testing.T) {
	p := newPod(t)
	for what, in := range map[string]io.Reader{"large": strings.NewReader(strings.Repeat("x", 4<<20)), "endless": endless{}} {
		if _, _, code := p.runOver(in, "/bin/sh", "-c", "exit 4"); code != 4 {
			t.Errorf("status %d of a command with %s input", code, what)
		}
	}
}

// A command ends with its connection, and with the stream, also while it takes no
// input; and when somebody says so.
func TestCommandEndsWithItsConnection(t *testing.T) {
	p := newPod(t)
	for what, how := range map[string]struct {
		in  io.Reader
		end func(net.Conn)
	}{
		"connection": {nil, func(conn net.Conn) { conn.Close() }},
		"word":       {endless{}, func(net.Conn) { p.call(podhost.MethodEndExec, podhost.EndExec{Mark: "word"}, nil) }},
		"stream":     {endless{}, func(net.Conn) { p.mux.Close() }},
	} {
		t.Run(what, func(t *testing.T) {
			conn, err := p.open(podhost.Header{To: podhost.ToExec})(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			fifo := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			alive, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			c := podhost.Command{Argv: []string{"/bin/sh", "-c", "exec 9>" + fifo + "; echo up; exec sleep 1000"}, Mark: what}
			podhost.RunOver(conn, c, how.in, onWrite(func() { how.end(conn) }), io.Discard)
			if n, err := alive.Read(make([]byte, 1)); n != 0 || err != io.EOF { // when nobody has the other end any more
				t.Errorf("%d bytes, %v", n, err)
			}
			if what == "stream" {
				p.connect() // for the others, and for the end
			}
		})
	}
}

// onWrite is called when something is written.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// Whoever connects to a socket that was asked for in the pod speaks with the other
// end of the stream.
func TestSocketInAPod(t *testing.T) {
	p := newPod(t)
	socket := p.place.HarnessSocket()
	listen := func() net.Conn {
		t.Helper()
		conn, err := p.open(podhost.Header{To: podhost.ToSocket, Path: socket})(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var told podhost.Progress
		if err := json.NewDecoder(conn).Decode(&told); err != nil || told.Path != socket {
			t.Fatalf("%+v, %v", told, err)
		}
		return conn
	}
	talk := func() {
		t.Helper()
		local, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		remote, err := p.mux.AcceptStream()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			io.Copy(remote, remote)
			remote.Close()
		}()
		io.WriteString(local, "hello")
		local.(*net.UnixConn).CloseWrite()
		if got, err := io.ReadAll(local); string(got) != "hello" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	first := listen()
	talk()
	second := listen() // beside one whose end was not noticed yet
	first.Close()
	io.Copy(io.Discard, first)
	talk()
	second.Close()
	io.Copy(io.Discard, second)
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("somebody listens, and nobody asked for it")
	}
	refused, err := p.open(podhost.Header{To: podhost.ToSocket, Path: "/no/such/directory/s"})(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var told podhost.Progress
	if err := json.NewDecoder(refused).Decode(&told); err != nil || told.Error == nil {
		t.Errorf("a socket where none can be: %+v, %v", told, err)
	}
}
