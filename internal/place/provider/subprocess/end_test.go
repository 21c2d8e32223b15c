package subprocess_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/subprocess"
	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/session/home"
)

func (b *bench) record(name string) *shim.Record {
	b.Helper()
	r, err := shim.Dir(filepath.Join(b.options.Dir, b.options.Owner, "sessions", name)).Record()
	b.ok(err)
	return r
}

// shimPID finds the shim as Stop would, if it had to.
func (b *bench) shimPID(name string) int {
	b.Helper()
	r := b.record(name)
	mark, err := tree.Mark(r.ID, filepath.Join(b.options.Dir, b.options.Owner, "sessions", name))
	b.ok(err)
	pids := pty.Marked(home.HostMark + "=" + mark)
	if len(pids) != 1 {
		b.Fatalf("shims of %s: %v", name, pids)
	}
	return pids[0]
}

// left are the processes of a session's life, by their marks.
func left(id string) []int { return pty.Marked(home.ProgramMark + "=" + id) }

func (b *bench) pidIn(file string) int {
	b.Helper()
	pid := 0
	b.eventually(file, func() bool {
		raw, err := os.ReadFile(b.path(file))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil && pid > 0
	})
	return pid
}

func TestExitIsWrittenDown(t *testing.T) {
	b := newBench(t)
	for script, want := range map[string]provider.Exit{
		"exit 0": {}, "exit 7": {Code: 7}, "kill -9 $$": {Code: 137, Signal: "SIGKILL"}, "kill -TERM $$": {Code: 143, Signal: "SIGTERM"},
	} {
		before := time.Now().Add(-time.Second)
		b.shell("w", "echo last words; "+script)
		b.ends("w")
		got, err := b.Exit(t.Context(), "w")
		b.ok(err)
		if got == nil || got.Code != want.Code || got.Signal != want.Signal || got.At.Before(before) {
			t.Errorf("Exit after %q = %+v, want %+v", script, got, want)
		}
		if text := b.peek("w", 0); text != "last words" {
			t.Errorf("text after %q = %q", script, text)
		}
	}
}

// What a command leaves behind is ended with it, and the session is over for
// its keeper in the meantime: it can be started again.
func TestLeftoversGoWithTheCommand(t *testing.T) {
	b := newBench(t)
	b.shell("w", `(trap "" TERM HUP INT; echo $BASHPID > pid; while :; do sleep 1; done) & (setsid sleep 1000 &) ; while [ ! -e pid ]; do sleep 0.01; done; exit 5`)
	id := b.record("w").ID
	b.ends("w")
	if e, err := b.Exit(t.Context(), "w"); err != nil || e.Code != 5 {
		t.Errorf("Exit = %+v, %v", e, err)
	}
	b.ok(b.Start(t.Context(), "w", b.config("sleep", "1000"))) // waits for the rest to be gone
	if pids := left(id); len(pids) > 0 {
		t.Errorf("processes %v outlive their session", pids)
	}
	if !b.running("w") {
		t.Error("the new session does not run")
	}
}

func TestStopEndsAStubbornTree(t *testing.T) {
	b := newBench(t)
	b.shell("w", `trap "" TERM HUP INT; (setsid sh -c 'trap "" TERM; echo $$ > daemon; while :; do sleep 1; done' &); kill -STOP $(sh -c 'sleep 1000 >/dev/null & echo $!'); echo up; while :; do sleep 1; done`)
	b.shows("w", "up")
	b.pidIn("daemon")
	id := b.record("w").ID
	if n := len(left(id)); n < 4 {
		t.Fatalf("%d processes before Stop", n)
	}
	b.ok(b.Stop(t.Context(), "w"))
	if pids := left(id); len(pids) > 0 {
		t.Errorf("processes %v after Stop", pids)
	}
	if e, err := b.Exit(t.Context(), "w"); err != nil || e.Signal != "SIGKILL" {
		t.Errorf("Exit = %+v, %v", e, err)
	}
	if _, err := os.Stat(b.record("w").Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// A shim that is killed takes its command along; the rest goes when somebody
// stops or starts the session. What was printed is still there.
func TestKilledShim(t *testing.T) {
	b := newBench(t)
	b.shell("w", `(setsid sh -c 'echo $$ > daemon; exec sleep 1000' &); echo up; exec sleep 1000`)
	b.shows("w", "up")
	daemon, r := b.pidIn("daemon"), b.record("w")
	b.ok(syscall.Kill(b.shimPID("w"), syscall.SIGKILL))
	b.ends("w")
	b.eventually("the command's end", func() bool { return pty.CommandLine(r.PID) == "" || pty.CommandLine(r.PID) == "[sleep]" })
	e, err := b.Exit(t.Context(), "w")
	if err != nil || e.Signal != "SIGKILL" || !e.At.IsZero() {
		t.Errorf("Exit = %+v, %v", e, err)
	}
	if text := b.peek("w", 0); text != "up" {
		t.Errorf("text = %q", text)
	}
	if at, err := b.GetLastActivity(t.Context(), "w"); err != nil || at.Before(r.Started.Add(-time.Second)) {
		t.Errorf("GetLastActivity = %v, %v", at, err)
	}
	if err := b.Nudge(t.Context(), "w", "x"); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("Nudge = %v", err)
	}
	if pids := left(r.ID); len(pids) != 1 || pids[0] != daemon {
		t.Fatalf("left are %v, want %d", pids, daemon)
	}
	b.ok(b.Stop(t.Context(), "w"))
	if pids := left(r.ID); len(pids) > 0 {
		t.Errorf("processes %v after Stop", pids)
	}
	b.start("w", "sleep", "1000")
}

// A shim that does not answer is stopped all the same.
func TestStopOfAStoppedShim(t *testing.T) {
	b := newBench(t)
	b.start("w", "sleep", "1000")
	id := b.record("w").ID
	pid := b.shimPID("w")
	b.ok(syscall.Kill(pid, syscall.SIGSTOP))
	b.eventually("the shim stands still", func() bool {
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(raw), ") T ")
	})
	if !b.running("w") {
		t.Error("a stopped shim counts as ended")
	}
	b.ok(b.Stop(t.Context(), "w"))
	if b.running("w") || len(left(id)) > 0 {
		t.Error("it runs after Stop")
	}
}

func TestShimTakesSignals(t *testing.T) {
	b := newBench(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		b.shell("w", `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`)
		b.shows("w", "up")
		b.ok(syscall.Kill(b.shimPID("w"), sig))
		b.ends("w")
		if text := b.peek("w", 1); text != "bye" {
			t.Errorf("last line after %s = %q", sig, text)
		}
	}
}

// Whoever starts a session may ignore signals; its command must not.
func TestInterruptReachesTheCommand(t *testing.T) {
	b := newBench(t)
	b.shell("w", `trap 'echo interrupted' INT; echo up; while :; do sleep 0.01; done`)
	b.shows("w", "up")
	b.ok(b.Interrupt(t.Context(), "w"))
	b.shows("w", "up\ninterrupted")
	b.start("other", "sleep", "1000")
	b.ok(b.Interrupt(t.Context(), "other"))
	b.ends("other")
	if e, err := b.Exit(t.Context(), "other"); err != nil || e.Signal != "SIGINT" {
		t.Errorf("Exit = %+v, %v", e, err)
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	b := newBench(t)
	for _, argv := range [][]string{{"/no/such"}, {"no-such-command"}, {b.work}, {""}, nil} {
		if err := b.Start(t.Context(), "w", b.config(argv...)); fault.KindOf(err) != fault.Usage {
			t.Errorf("Start(%q) = %v (%s)", argv, err, fault.KindOf(err))
		}
	}
	if _, err := b.Exit(t.Context(), "w"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Exit = %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(b.options.Dir, "me", "sessions"))
	if err != nil || len(entries) > 0 {
		t.Errorf("left is %v, %v", entries, err)
	}
}

func TestGonePlaceIsNoAnswer(t *testing.T) {
	b := newBench(t)
	b.start("w", "sleep", "1000")
	b.ok(os.Rename(b.options.Dir, b.options.Dir+".away"))
	if r, err := b.IsRunning(t.Context(), "w"); err == nil {
		t.Errorf("IsRunning = %v without an error", r)
	}
	if names, err := b.ListRunning(t.Context(), ""); err == nil {
		t.Errorf("ListRunning = %v without an error", names)
	}
	b.ok(os.Rename(b.options.Dir+".away", b.options.Dir))
	if !b.running("w") {
		t.Error("it does not run after all")
	}
}

func TestFilesAreOurs(t *testing.T) {
	b := newBench(t)
	b.shell("w", "echo x; exec sleep 1000")
	b.shows("w", "x")
	b.ok(b.SetMeta(t.Context(), "w", "k", "v"))
	sock, err := os.Stat(b.record("w").Socket)
	if err != nil || sock.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", sock.Mode(), err)
	}
	err = filepath.WalkDir(filepath.Join(b.options.Dir, "me"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	b.ok(err)
}

var _ provider.Provider = (*subprocess.Provider)(nil)

// A record is a file that others may have written: what it names as its socket
// is not removed.
func TestRecordDoesNotDecideWhatIsRemoved(t *testing.T) {
	b := newBench(t)
	b.shell("w", "exec sleep 1000")
	b.ok(b.Stop(t.Context(), "w"))
	victim := b.path("victim")
	b.ok(os.WriteFile(victim, []byte("keep"), 0o600))
	dir := shim.Dir(filepath.Join(b.options.Dir, b.options.Owner, "sessions", "w"))
	file := filepath.Join(string(dir), "session.json")
	raw, err := os.ReadFile(file)
	b.ok(err)
	forged := strings.Replace(string(raw), b.record("w").Socket, victim, 1)
	b.ok(os.WriteFile(file, []byte(forged), 0o600))
	b.ok(os.Remove(filepath.Join(string(dir), "end.json")))
	b.ok(b.Stop(t.Context(), "w"))
	b.shell("w", "exec sleep 1000")
	if _, err := os.Stat(victim); err != nil {
		t.Errorf("the file that the record names: %v", err)
	}
}

// A record that names somebody else's socket connects den to nobody, and the
// session can be ended all the same.
func TestRecordChoosesNoSocket(t *testing.T) {
	b := newBench(t)
	b.shell("w", "cat")
	l, err := net.Listen("unix", b.path("agent.sock"))
	b.ok(err)
	defer l.Close()
	called := make(chan struct{})
	go func() {
		if _, err := l.Accept(); err == nil {
			close(called)
		}
	}()
	r := b.record("w")
	r.Socket = b.path("agent.sock")
	b.ok(atomicfile.ReplaceJSON(filepath.Join(b.options.Dir, b.options.Owner, "sessions", "w", "session.json"), r))
	if err := b.Nudge(t.Context(), "w", "x"); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("nudge: %v, want unreachable", err)
	}
	b.ok(b.Stop(t.Context(), "w"))
	if pids := left(r.ID); len(pids) > 0 {
		t.Errorf("left: %v", pids)
	}
	select {
	case <-called:
		t.Error("the other was called")
	default:
	}
}
