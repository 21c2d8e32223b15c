//go:build linux

package pty_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"den/internal/process/pty"
	"den/internal/testkit/need"
)

// patience is how long a condition may take on a loaded machine.
const patience = 2 * time.Minute

// term is a program on a real terminal, as a host keeps it: its output is
// read all the time and its processes are gone when the test is over.
type term struct {
	t   *testing.T
	p   *pty.PTY
	pid int

	done chan struct{} // closed when the terminal hung up

	mu   sync.Mutex // guards the fields below
	out  []byte
	seen int // chunks of output so far
}

func testEnv(t *testing.T) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + t.TempDir(), "TERM=xterm-256color", "LANG=C.UTF-8", "PS1=PROMPT> ", "PYTHONSTARTUP="}
}

// startPython runs a Python program that prints "go" when it is set up.
func startPython(t *testing.T, code string) *term {
	t.Helper()
	x := start(t, "python3", "-u", "-c", code)
	x.untilOutput("go")
	return x
}

func start(t *testing.T, argv ...string) *term {
	t.Helper()
	need.Program(t, argv[0])
	p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	x := &term{t: t, p: p, done: make(chan struct{})}
	x.pid, err = p.Start(pty.Command{Argv: argv, Env: testEnv(t), Dir: t.TempDir()})
	if err != nil {
		p.Close()
		t.Fatal(err)
	}
	go x.read()
	t.Cleanup(x.close)
	return x
}

// readChunk reads what is handled at once.
func readChunk(p *pty.PTY, buf []byte) (int, error) {
	n, err := p.Take(buf)
	if n > 0 {
		p.Handled()
	}
	return n, err
}

func (x *term) read() {
	defer close(x.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := readChunk(x.p, buf)
		x.mu.Lock()
		x.out = append(x.out, buf[:n]...)
		x.seen++
		x.mu.Unlock()
		if bytes.Contains(buf[:n], []byte("\x1b[6n")) {
			x.p.Write([]byte("\x1b[1;1R")) // Where is the cursor? Somebody must answer.
		}
		if err != nil {
			return
		}
	}
}

func (x *term) close() {
	below := pty.Descendants(x.pid)
	// What is below the program, and orphans of its session, which this process adopted.
	for _, pid := range append(pty.Descendants(os.Getpid()), x.pid) {
		if sid, err := unix.Getsid(pid); err == nil && sid == x.pid || slices.Contains(below, pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	x.wait()
	x.p.Close()
	<-x.done
	if x.t.Failed() {
		x.t.Logf("terminal of %s: %q", x.p.Name(), x.output())
	}
}

// wait reaps the program. A second call returns 0.
func (x *term) wait() syscall.WaitStatus {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(x.pid, &ws, 0, nil)
		if err != syscall.EINTR {
			return ws
		}
	}
}

func (x *term) output() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.out)
}

func (x *term) chunks() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen
}

func (x *term) write(s string) {
	x.t.Helper()
	if _, err := x.p.Write([]byte(s)); err != nil {
		x.t.Fatalf("write %q: %v", s, err)
	}
}

// until waits for cond, asking again and again.
func (x *term) until(what string, cond func() bool) {
	x.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("no %s after %v; last probe %+v; output %q", what, patience, x.p.Probe(), x.output())
		}
	}
}

func (x *term) untilOutput(pattern string) {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	x.until("output matching "+pattern, func() bool { return re.MatchString(x.output()) })
}

// untilState waits for two probes in a row that agree, with no output and
// nothing run between them: what a host calls a rest.
func (x *term) untilState(want pty.ReadyState) pty.Readiness {
	x.t.Helper()
	var r pty.Readiness
	x.until(fmt.Sprintf("state %s", want), func() bool {
		seen := x.chunks()
		r = x.p.Probe()
		if r.State != want {
			return false
		}
		time.Sleep(time.Millisecond)
		again := x.p.Probe()
		return again.State == want && again.Fingerprint == r.Fingerprint && x.chunks() == seen
	})
	return r
}

// neverReady probes hard until cond holds and fails if one probe says ready.
func (x *term) neverReady(what string, cond func() bool) {
	x.t.Helper()
	n := 0
	x.until(what, func() bool {
		r := x.p.Probe()
		n++
		if r.State == pty.Ready {
			if cond() {
				return true // It became true while we looked.
			}
			x.t.Fatalf("probe %d says ready: %+v", n, r)
		}
		return cond()
	})
}

// after makes a condition that holds when d has passed.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return time.Now().After(end) }
}

// script writes a program and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMain makes this process adopt orphans, as a host does, and makes sure
// that no test leaves a process behind.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "become a subreaper:", err)
		os.Exit(1)
	}
	code := m.Run()
	left := children(os.Getpid())
	for end := time.Now().Add(2 * time.Minute); len(left) > 0 && time.Now().Before(end); left = children(os.Getpid()) {
		if pid, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	if code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "tests left processes behind: %s\n", strings.Join(left, ", "))
		code = 1
	}
	os.Exit(code)
}

// children lists the children of pid, dead ones included.
func children(pid int) []string {
	var out []string
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for _, kid := range bytes.Fields(data) {
			out = append(out, string(kid))
		}
	}
	return out
}
