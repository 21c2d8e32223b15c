package podhost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/podhost"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/testkit/dentest"

	"github.com/hashicorp/yamux"
)

// den is the binary, built once.
var den string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "denp")
	if err != nil {
		panic(err)
	}
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir) // Best effort.
	os.Exit(code)
}

// pod is a pod without a cluster: its first process is one of this machine.
type pod struct {
	*testing.T
	place podhost.Place
	first *exec.Cmd
	ended chan error
	mux   *yamux.Session
}

func newPod(t *testing.T) *pod {
	t.Helper()
	dir, err := os.MkdirTemp("", "denp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // Best effort.
	p := &pod{T: t, place: podhost.Place{Dir: dir}, ended: make(chan error, 1)}
	if out, err := exec.Command(den, podhost.Verb, podhost.ModeInstall, dir).CombinedOutput(); err != nil {
		t.Fatalf("install: %v: %s", err, out)
	}
	p.first = exec.Command(p.place.Binary(), podhost.Verb, podhost.ModeRun, dir)
	p.first.Stderr = os.Stderr
	if err := p.first.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.first.Wait() }()
	t.Cleanup(func() {
		p.first.Process.Signal(syscall.SIGTERM)
		p.call(podhost.MethodRelease, nil, nil)
		<-p.ended
	})
	p.connect()
	p.answers()
	return p
}

// connect opens the stream into the pod.
func (p *pod) connect() {
	p.Helper()
	cmd := exec.Command(p.place.Binary(), podhost.Verb, podhost.ModeConnect, p.place.Dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		p.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	mux, err := yamux.Client(pipes{out, in}, podhost.MuxConfig())
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { mux.Close(); cmd.Wait() })
	p.mux = mux
}

type pipes struct {
	io.ReadCloser
	in io.WriteCloser
}

func (s pipes) Write(b []byte) (int, error) { return s.in.Write(b) }
func (s pipes) Close() error                { return errors.Join(s.in.Close(), s.ReadCloser.Close()) }

func (p *pod) open(h podhost.Header) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		conn, err := p.mux.OpenStream()
		if err != nil {
			return nil, err
		}
		h.V = podhost.Version
		return conn, json.NewEncoder(conn).Encode(h)
	}
}

// call asks the first process.
func (p *pod) call(method string, params, result any) error {
	return podhost.Call(context.Background(), p.open(podhost.Header{To: podhost.ToPod}), "test", method, params, result)
}

// answers waits until the first process does: a socket is there before it listens.
func (p *pod) answers() {
	p.Helper()
	for p.call(podhost.MethodStatus, nil, nil) != nil {
		select {
		case err := <-p.ended:
			p.Fatalf("the first process ended: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (p *pod) start(argv ...string) *session.Session {
	p.Helper()
	var m home.Manifest
	err := p.call(podhost.MethodStart, podhost.Start{
		Name: "w", Command: argv, Dir: p.place.Dir, Env: [][]byte{[]byte("ODD=a\xffb")}, Cols: 80, Rows: 24, Term: "xterm-256color",
	}, &m)
	if err != nil {
		p.Fatal(err)
	}
	return session.In(home.Dir{ID: m.ID}, session.Options{Remote: true, Dial: func(ctx context.Context, _ *home.Manifest) (net.Conn, error) {
		return p.open(podhost.Header{To: podhost.ToHost, ID: m.ID})(ctx)
	}})
}

func (p *pod) status() (s podhost.Status) {
	p.Helper()
	if err := p.call(podhost.MethodStatus, nil, &s); err != nil {
		p.Fatal(err)
	}
	return s
}

// A session in a pod is reached by the stream, ends with its program, and leaves
// its log to be fetched before the pod ends as the program did.
func TestSessionInAPod(t *testing.T) {
	p := newPod(t)
	if s := p.status(); s.State != podhost.Waiting {
		t.Fatalf("before its start: %+v", s)
	}
	s := p.start("/bin/sh", "-c", `printf '%s\n' "$ODD" | od -c | head -1; read line; exit 7`)
	if again := p.call(podhost.MethodStart, podhost.Start{Name: "w", Command: []string{"true"}, Dir: "/"}, nil); fault.KindOf(again) != fault.Busy {
		t.Errorf("a second start: %v", again)
	}
	copied := t.TempDir()
	mirrored := make(chan error, 1)
	go func() { mirrored <- s.Mirror(t.Context(), copied, nil) }()
	if _, err := s.Input(t.Context(), inputLine("go")); err != nil {
		t.Fatal(err)
	}
	var end podhost.Status
	if err := p.call(podhost.MethodAwait, nil, &end); err != nil || end.State != podhost.Ended || *end.Session.ExitCode != 7 || end.Told {
		t.Fatalf("the end: %+v, %v", end, err)
	}
	if err := <-mirrored; err != nil && fault.KindOf(err) != fault.NotRunning {
		t.Errorf("mirror: %v", err)
	}
	files := t.TempDir()
	p.fetch(end.Session.ID, files)
	log, err := eventlog.Open(filepath.Join(files, "log"))
	if err != nil {
		t.Fatal(err)
	}
	last, err := log.Last()
	if err != nil || last.Seq != end.Session.FinalSeq {
		t.Errorf("the fetched log ends with %d, %v; want %d", last.Seq, err, end.Session.FinalSeq)
	}
	if err := p.call(podhost.MethodRelease, nil, nil); err != nil {
		t.Fatal(err)
	}
	err = <-p.ended
	p.ended <- err
	if p.first.ProcessState.ExitCode() != 7 {
		t.Errorf("the pod ended with %v", err)
	}
}

func (p *pod) fetch(id, to string) {
	p.Helper()
	conn, err := p.open(podhost.Header{To: podhost.ToFiles, ID: id})(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	defer conn.Close()
	cmd := exec.Command("tar", "-xf", "-", "-C", to)
	cmd.Stdin = conn
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("unpack: %v: %s", err, out)
	}
}

// A pod that is told to end ends its session in order.
func TestPodThatIsToldToEnd(t *testing.T) {
	p := newPod(t)
	p.start("/bin/sh", "-c", "trap '' HUP; sleep 1000")
	if err := p.first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var end podhost.Status
	if err := p.call(podhost.MethodAwait, nil, &end); err != nil || !end.Session.Status.Final() || !end.Told {
		t.Errorf("the end: %+v, %v", end, err)
	}
}

// A pod in which nothing was started ends at once.
func TestPodThatWaitsEnds(t *testing.T) {
	p := newPod(t)
	p.status()
	if err := p.first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := <-p.ended
	p.ended <- err
	if err != nil {
		t.Errorf("the pod ended with %v", err)
	}
}

func TestStartThatFailsLeavesThePodWaiting(t *testing.T) {
	p := newPod(t)
	for what, s := range map[string]podhost.Start{
		"no such program":   {Name: "w", Command: []string{"/no/such/program"}, Dir: "/", Cols: 80, Rows: 24, Term: "xterm"},
		"no such directory": {Name: "w", Command: []string{"/bin/true"}, Dir: "/no/such/dir", Cols: 80, Rows: 24, Term: "xterm"},
	} {
		if err := p.call(podhost.MethodStart, s, nil); err == nil {
			t.Errorf("%s: no error", what)
		}
		if s := p.status(); s.State != podhost.Waiting {
			t.Errorf("%s: %+v", what, s)
		}
	}
}

// Connections go on while one of them is not read.
func TestSlowConnectionHoldsUpNoOther(t *testing.T) {
	p := newPod(t)
	p.start("/bin/sh", "-c", "yes")
	slow, err := p.open(podhost.Header{To: podhost.ToFiles, ID: p.status().Session.ID})(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	for range 50 {
		p.status()
	}
	if err := p.call(podhost.MethodStop, podhost.Stop{Grace: time.Second}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestStageInAPod(t *testing.T) {
	p := newPod(t)
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(filepath.Join(src, "file"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	archive, err := exec.Command("tar", "-C", src, "-cf", "-", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.open(podhost.Header{To: podhost.ToStage, Dir: dst})(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(conn, bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	var last podhost.Progress
	for dec := json.NewDecoder(conn); !last.Done; {
		last = podhost.Progress{}
		if err := dec.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(dst, "file")); last.Error != nil || err != nil || string(raw) != "content" {
		t.Errorf("staged %q, %v, %v", raw, err, last.Error)
	}
}

// A command beside the session has its own environment and directory, and can be
// ended by its mark.
func TestExecInAPod(t *testing.T) {
	p := newPod(t)
	run := func(c podhost.Command) (string, int) {
		t.Helper()
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(p.place.Binary(), podhost.Verb, podhost.ModeExec, p.place.Dir, string(raw))
		out, _ := cmd.Output()
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	dir := t.TempDir()
	out, code := run(podhost.Command{Argv: []string{"/bin/sh", "-c", `echo "$PWD $ODD"; exit 3`}, WorkDir: dir, Env: [][]byte{[]byte("ODD=x y")}, Mark: "m"})
	if out != dir+" x y" || code != 3 {
		t.Errorf("%q, status %d", out, code)
	}
	if _, code := run(podhost.Command{Argv: []string{"no-such-program"}}); code != 127 {
		t.Errorf("status %d of what is not there", code)
	}
	begun := filepath.Join(dir, "begun")
	ended := make(chan int, 1)
	go func() {
		_, code := run(podhost.Command{Argv: []string{"/bin/sh", "-c", "echo > " + begun + "; exec sleep 1000"}, Mark: "long"})
		ended <- code
	}()
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := p.call(podhost.MethodEndExec, podhost.EndExec{Mark: "long"}, nil); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// What is beside den in its image comes along: without dend there is no 'den mcp'.
func TestInstallBringsDend(t *testing.T) {
	image, to := t.TempDir(), t.TempDir()
	program, err := os.ReadFile(den)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"den": program, "dend": []byte("the keeper")} {
		if err := os.WriteFile(filepath.Join(image, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(filepath.Join(image, "den"), podhost.Verb, podhost.ModeInstall, to).CombinedOutput(); err != nil {
		t.Fatalf("install: %v: %s", err, out)
	}
	bin := filepath.Dir(podhost.Place{Dir: to}.Binary())
	for name, want := range map[string][]byte{"den": program, "dend": []byte("the keeper")} {
		path := filepath.Join(bin, name)
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
}
