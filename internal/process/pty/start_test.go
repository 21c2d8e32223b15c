//go:build linux

package pty_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"den/internal/base/fault"
	"den/internal/process/pty"
)

func open(t *testing.T) *pty.PTY {
	t.Helper()
	p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestStartErrorsNameTheCommand(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	lost := filepath.Join(dir, "lost")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lost, []byte("#!/no/such/interpreter -x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		c    pty.Command
		want string
	}{
		{"missing on PATH", pty.Command{Argv: []string{"no-such-program"}}, `"no-such-program": no such command on PATH`},
		{"missing by path", pty.Command{Argv: []string{"/no/such"}}, `"/no/such": no such file`},
		{"directory", pty.Command{Argv: []string{dir}}, "is a directory"},
		{"not executable", pty.Command{Argv: []string{plain}}, "is not executable"},
		{"not executable on PATH", pty.Command{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}}, "is not executable"},
		{"interpreter", pty.Command{Argv: []string{lost}}, "interpreter /no/such/interpreter does not exist"},
		{"no command", pty.Command{}, "no command"},
		{"empty command", pty.Command{Argv: []string{""}}, "no command"},
		{"directory to start in", pty.Command{Argv: []string{"true"}, Dir: "/no/such/dir"}, "/no/such/dir: no such file"},
		{"file to start in", pty.Command{Argv: []string{"true"}, Dir: plain}, "not a directory"},
		{"zero byte", pty.Command{Argv: []string{"echo", "a\x00b"}}, "zero byte"},
		{"own PATH only", pty.Command{Argv: []string{"ls"}, Env: []string{"PATH=" + t.TempDir()}}, "no such command on PATH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pid, err := open(t).Start(tt.c)
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("Start = %d, %v (%s); want a usage error with %q", pid, err, fault.KindOf(err), tt.want)
			}
		})
	}
}

func TestStartTwice(t *testing.T) {
	x := start(t, "cat")
	if _, err := x.p.Start(pty.Command{Argv: []string{"cat"}}); err == nil {
		t.Error("a second command was started on one terminal")
	}
}

// The program is looked up where it will run, with the environment it will have.
func TestStartResolvesInItsOwnWorld(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	// No "#!" line: run by the shell, as a shell would.
	if err := os.WriteFile(filepath.Join(dir, "bin", "hello"), []byte("echo $0 says $GREETING from $(pwd) with $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []pty.Command{
		{Argv: []string{"hello", "arg"}, Dir: dir, Env: []string{"PATH=bin:/usr/bin:/bin", "GREETING=no", "GREETING=hi"}},
		{Argv: []string{"bin/hello", "arg"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "GREETING=hi"}},
		{Argv: []string{"hello", "arg"}, Dir: filepath.Join(dir, "bin"), Env: []string{"PATH=:/usr/bin:/bin", "GREETING=hi"}},
	} {
		p := open(t)
		pid, err := p.Start(c)
		if err != nil {
			t.Error(err)
			continue
		}
		out := readAll(t, p)
		syscall.Wait4(pid, nil, 0, nil)
		if want := "says hi from " + c.Dir + " with arg"; !strings.Contains(out, want) {
			t.Errorf("%q in %s wrote %q, want %q", c.Argv, c.Dir, out, want)
		}
	}
}

// readAll reads until the terminal hangs up.
func readAll(t *testing.T, p *pty.PTY) string {
	t.Helper()
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := readChunk(p, buf)
		out = append(out, buf[:n]...)
		if err != nil {
			return string(out)
		}
	}
}

func TestStartMakesASession(t *testing.T) {
	x := start(t, "sh", "-c", "tty; stty -a; cat")
	x.untilOutput(`iutf8`)
	if !strings.HasPrefix(x.output(), x.p.Name()+"\r\n") {
		t.Errorf("tty says %q, Name says %q", x.output(), x.p.Name())
	}
	if sid, err := unix.Getsid(x.pid); err != nil || sid != x.pid {
		t.Errorf("session %d, %v; want %d", sid, err, x.pid)
	}
	x.untilState(pty.Ready)
	if g, err := x.p.ForegroundGroup(); err != nil || g != x.pid {
		t.Errorf("foreground group %d, %v; want %d", g, err, x.pid)
	}
}

func links(t *testing.T, pid int) map[string]string {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]string)
	for _, e := range entries {
		m[e.Name()], _ = os.Readlink(filepath.Join(dir, e.Name()))
	}
	return m
}

func TestStartLeaksNoDescriptor(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], 0); err != nil { // As inherited from a careless parent.
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	x := start(t, "cat") // it rests once its own start is over
	x.untilState(pty.Ready)
	got := links(t, x.pid)
	if len(got) != 3 {
		t.Errorf("the child has descriptors %v; want 0, 1 and 2 only", got)
	}
	for fd, l := range got {
		if l != x.p.Name() {
			t.Errorf("the child's descriptor %s is %s, want %s", fd, l, x.p.Name())
		}
	}
	for fd, l := range links(t, os.Getpid()) {
		if l == x.p.Name() {
			t.Errorf("the parent kept the program's side as descriptor %s", fd)
		}
	}
}

func TestDescriptorLeak(t *testing.T) {
	cycle := func() {
		p, err := pty.Open(pty.Size{Cols: 80, Rows: 24})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Start(pty.Command{Argv: []string{"no-such-program"}}); err == nil {
			t.Fatal("started nothing")
		}
		pid, err := p.Start(pty.Command{Argv: []string{"cat"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			p.Probe()
		}
		p.Signal(syscall.SIGKILL)
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
		p.Probe()
		pty.Marked("NO_SUCH=ENTRY")
		pty.Descendants(os.Getpid())
	}
	cycle()
	before := links(t, os.Getpid())
	for range 20 {
		cycle()
	}
	if now := links(t, os.Getpid()); len(now) != len(before) {
		t.Errorf("20 terminals left %d descriptors behind: %v", len(now)-len(before), now)
	}
}

// A host that was started in the background ignores signals; its programs must not.
func TestStartResetsSignals(t *testing.T) {
	ignored := []os.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGPIPE}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	x := start(t, "grep", "Sig[IB]", "/proc/self/status")
	<-x.done
	const standard = 1<<31 - 1 // the C library's own signals, 32 and up, are not ours to reset
	for _, line := range strings.Split(strings.TrimSpace(x.output()), "\r\n") {
		_, hex, _ := strings.Cut(line, "\t")
		mask, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || mask&standard != 0 {
			t.Errorf("the child has %q, want no signal ignored or blocked", line)
		}
	}
}

func TestSignalGoesToTheForeground(t *testing.T) {
	t.Parallel()
	x := start(t, "bash", "--norc")
	x.untilState(pty.Ready)
	x.write("sleep 1000; echo status $?\r")
	x.until("sleep", func() bool { r := x.p.Probe(); return strings.HasPrefix(r.Command, "sleep") })
	g, err := x.p.Signal(syscall.SIGINT)
	if err != nil || g == x.pid {
		t.Errorf("Signal = %d, %v; want another group than the shell's %d", g, err, x.pid)
	}
	x.untilState(pty.Ready) // The shell lives on.
}

func TestDescendantsAndMarks(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("DEN_TEST_MARK=%d-%s", os.Getpid(), t.Name())
	p := open(t)
	pid, err := p.Start(pty.Command{
		Argv: []string{"sh", "-c", "sleep 1000 & (sh -c 'sleep 1000; true') & true & echo up; wait"},
		Env:  append(testEnv(t), mark),
	})
	if err != nil {
		t.Fatal(err)
	}
	x := &term{t: t, p: p, pid: pid, done: make(chan struct{})}
	go x.read()
	t.Cleanup(x.close)
	x.untilOutput("up")
	x.until("marks on all descendants", func() bool {
		all := append(pty.Descendants(pid), pid)
		slices.Sort(all)
		return len(all) >= 4 && slices.Equal(pty.Marked(mark), all)
	})
	if !pty.HasEnv(pid, "DEN_TEST_MARK") || pty.HasEnv(pid, "DEN_TEST_MAR") || pty.HasEnv(pid, "TEST_MARK") || pty.HasEnv(1<<30, "PATH") {
		t.Error("HasEnv finds what is not there, or not what is")
	}
	for _, wrong := range []string{mark[:len(mark)-1], mark + "x", "DEN_TEST_MARK", "=", ""} {
		if got := pty.Marked(wrong); len(got) > 0 {
			t.Errorf("Marked(%q) = %v", wrong, got)
		}
	}
	if got := pty.CommandLine(pid); !strings.HasPrefix(got, "sh -c sleep 1000") || len([]rune(got)) > 80 {
		t.Errorf("CommandLine = %q", got)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	x.until("zombie", func() bool { return !slices.Contains(pty.Descendants(os.Getpid()), pid) })
	if got := pty.CommandLine(pid); got != "[sh]" {
		t.Errorf("CommandLine of a zombie = %q, want [sh]", got)
	}
	if got := pty.CommandLine(1 << 30); got != "" {
		t.Errorf("CommandLine of nothing = %q", got)
	}
}
