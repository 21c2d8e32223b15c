package podhost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/place/podhost"
	"den/internal/process/pty"

	"github.com/hashicorp/yamux"
)

// away is where a keeper would run, with a Home: den's verbs are served there.
type away struct {
	*testing.T
	env []string
	mux *yamux.Session
}

func newAway(t *testing.T) *away {
	t.Helper()
	dir, err := os.MkdirTemp("", "denv")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // Best effort.
	w := &away{T: t, env: append(os.Environ(), "DEN_HOME="+dir+"/home", "DEN_RUN_DIR="+dir+"/run", "HOME="+dir, "DEN_SESSION=")}
	w.connect()
	return w
}

// connect opens a stream to where the keeper is.
func (w *away) connect() {
	w.Helper()
	cmd := exec.Command(den, podhost.Verb, podhost.ModeVerbs)
	cmd.Env = w.env
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	mux, err := yamux.Client(pipes{out, in}, podhost.MuxConfig())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { mux.Close(); cmd.Wait() })
	w.mux = mux
}

func (w *away) dial() net.Conn {
	w.Helper()
	conn, err := w.mux.OpenStream()
	if err != nil {
		w.Fatal(err)
	}
	if err := json.NewEncoder(conn).Encode(podhost.Header{V: podhost.Version, To: podhost.ToVerb}); err != nil {
		w.Fatal(err)
	}
	return conn
}

func verbOf(args ...string) (v podhost.VerbStart) {
	for _, a := range args {
		v.Args = append(v.Args, []byte(a))
	}
	return v
}

// run runs a verb whose input, if it is wanted, is the text.
func (w *away) run(stdin string, args ...string) (out, errs string, code int, asked bool) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	in := make(chan []byte, 1)
	in <- []byte(stdin)
	close(in)
	code, err := podhost.RunVerb(w.Context(), w.dial(), verbOf(args...), podhost.VerbStreams{
		In:  func() <-chan []byte { asked = true; return in },
		Out: &stdout, Err: &stderr,
	})
	if err != nil {
		w.Fatalf("den %q: %v", args, err)
	}
	return stdout.String(), stderr.String(), code, asked
}

// do is run of a verb that must succeed.
func (w *away) do(args ...string) string {
	w.Helper()
	out, errs, code, asked := w.run("", args...)
	if code != 0 || asked {
		w.Fatalf("den %q: status %d, input wanted: %v: %s", args, code, asked, errs)
	}
	return out
}

// cat starts a session that echoes what is typed.
func (w *away) cat() {
	w.Helper()
	w.do("new", "s", "cat")
	w.Cleanup(func() {
		cmd := exec.Command(den, "kill", "s", "--force") // whatever has become of the stream
		cmd.Env = w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			w.Errorf("clean up: %v: %s", err, out)
		}
	})
}

// A verb's streams and its status come to the caller; its caller's input is taken
// only by a verb that reads it.
func TestVerb(t *testing.T) {
	w := newAway(t)
	if out := w.do("version"); strings.TrimSpace(out) == "" {
		t.Error("no version")
	}
	if out, errs, code, asked := w.run("", "status", "nobody"); out != "" || !strings.Contains(errs, "nobody") || code != 3 || asked {
		t.Errorf("a verb that fails: status %d, input wanted: %v: %q, %q", code, asked, out, errs)
	}
	w.cat()
	text := strings.Repeat("0123456789abcdef\n", 8<<10) // more than a frame
	if _, errs, code, asked := w.run(text+"the end\n", "paste", "s", "-"); code != 0 || !asked {
		t.Errorf("paste: status %d, input wanted: %v: %s", code, asked, errs)
	}
	w.do("wait", "s", "--text", "the end")
}

// person is somebody at a terminal.
type person struct {
	*away
	in    chan []byte
	size  chan pty.Size
	ended chan error

	mu   sync.Mutex // guards the fields below
	text bytes.Buffer
	more chan struct{} // closed, and replaced, with new text
	code int
}

func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	close(p.more)
	p.more = make(chan struct{})
	return len(b), nil
}

// sits begins a verb on a terminal.
func (w *away) sits(ctx context.Context, args ...string) *person {
	w.Helper()
	p := &person{away: w, in: make(chan []byte), size: make(chan pty.Size), ended: make(chan error, 1), more: make(chan struct{})}
	v := verbOf(args...)
	v.Terminal = &pty.Size{Cols: 40, Rows: 10}
	v.Env = [][]byte{[]byte("TERM=xterm-256color")}
	conn := w.dial()
	go func() {
		code, err := podhost.RunVerb(ctx, conn, v, podhost.VerbStreams{In: func() <-chan []byte { return p.in }, Out: p, Err: p, Size: p.size})
		p.mu.Lock()
		p.code = code
		p.mu.Unlock()
		p.ended <- err
	}()
	return p
}

func (p *person) sees(text string) {
	p.Helper()
	limit := time.After(time.Minute)
	for {
		p.mu.Lock()
		there, more := strings.Contains(p.text.String(), text), p.more
		p.mu.Unlock()
		if there {
			return
		}
		select {
		case <-more:
		case err := <-p.ended:
			p.Fatalf("ended before it showed %q: %v: %q", text, err, p.text.String())
		case <-limit:
			p.Fatalf("%q is not in %q", text, p.text.String())
		}
	}
}

// A person who attaches through the stream has a terminal there: what is typed
// arrives, its size is the session's, and the detach keys end it.
func TestVerbOnATerminal(t *testing.T) {
	w := newAway(t)
	w.cat()
	p := w.sits(t.Context(), "attach", "s")
	p.in <- []byte("hello\r")
	p.sees("hello")
	p.size <- pty.Size{Cols: 50, Rows: 12}
	for begun := time.Now(); !strings.Contains(w.do("status", "s", "-j"), `"cols":50`); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("the session does not get the terminal's size")
		}
	}
	p.in <- []byte("\x1c\x1c")
	if err := <-p.ended; err != nil || p.code != 0 {
		t.Fatalf("status %d, %v", p.code, err)
	}
	if !strings.Contains(p.text.String(), "detached") {
		t.Errorf("no word of the end in %q", p.text.String())
	}
}

// Who leaves, or is cut off, leaves nothing behind where the keeper is.
func TestVerbEndsWithItsCaller(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken bool
		leave  func(w *away, cancel func())
	}{
		{"asked to end", false, func(_ *away, cancel func()) { cancel() }},
		{"cut off", true, func(w *away, _ func()) { w.mux.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newAway(t)
			w.cat()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := w.sits(ctx, "attach", "s")
			p.in <- []byte("hello\r")
			p.sees("hello")
			c.leave(w, cancel)
			if err := <-p.ended; podhost.Broken(err) != c.broken || err != nil && !c.broken {
				t.Errorf("the caller was told: %v", err)
			}
			if c.broken {
				w.connect()
			}
			for !strings.Contains(w.do("status", "s", "-j"), `"attached":0`) {
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
}
