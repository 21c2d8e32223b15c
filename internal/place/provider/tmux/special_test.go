package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/tmux"
)

// limit is how long a test waits for what must come.
const limit = 2 * time.Minute

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

func start(t testing.TB, p provider.Provider, name string, argv ...string) {
	t.Helper()
	if err := p.Start(t.Context(), name, provider.Config{Argv: argv, WorkDir: os.TempDir()}); err != nil {
		t.Fatalf("Start(%q): %v", name, err)
	}
}

func isRunning(t testing.TB, p provider.Provider, name string) bool {
	t.Helper()
	running, err := p.IsRunning(t.Context(), name)
	if err != nil {
		t.Fatalf("IsRunning(%q): %v", name, err)
	}
	return running
}

func mustRaw(t testing.TB, socket string, args ...string) string {
	t.Helper()
	out, err := raw(t, socket, args...)
	if err != nil {
		t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(out)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for kind, o := range map[fault.Kind]tmux.Options{
		fault.Usage:       {Socket: "relative"},
		fault.Unsupported: {Socket: "/s", Binary: "/no/such/tmux"},
	} {
		if _, err := tmux.Open(o); fault.KindOf(err) != kind {
			t.Errorf("Open(%+v) = %v, want %s", o, err, kind)
		}
	}
	needTmux(t)
	if _, err := tmux.Open(tmux.Options{Socket: "/" + strings.Repeat("x", 120)}); fault.KindOf(err) != fault.Usage {
		t.Errorf("Open with a long path = %v", err)
	}
}

// A question brings no server up, and its answer is "no session".
func TestNoServerIsAnAnswer(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	if isRunning(t, p, "w") {
		t.Error("it runs without a server")
	}
	if _, err := p.Peek(t.Context(), "w", 1); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Peek = %v", err)
	}
	if err := p.Stop(t.Context(), "w"); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if _, err := os.Stat(p.socket); err == nil {
		t.Error("a question started a server")
	}
}

// What others run on the server is neither seen nor touched, whatever it is
// called.
func TestForeignSessions(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	start(t, p, "mine", "sleep", "1000")
	mustRaw(t, p.socket, "new-session", "-d", "-s", "o/theirs", "sleep", "1000")
	if isRunning(t, p, "theirs") {
		t.Error("a session without our tag is ours")
	}
	names, err := p.ListRunning(t.Context(), "")
	if err != nil || len(names) != 1 {
		t.Errorf("ListRunning = %q, %v", names, err)
	}
	if err := p.Stop(t.Context(), "theirs"); err != nil {
		t.Errorf("Stop: %v", err)
	}
	mustRaw(t, p.socket, "has-session", "-t", "=o/theirs")
	if err := p.Start(t.Context(), "theirs", provider.Config{Argv: []string{"sleep", "1"}, WorkDir: "/"}); err == nil {
		t.Error("Start took a name that a foreign session has")
	}
	mustRaw(t, p.socket, "has-session", "-t", "=o/theirs")
}

// A server that was killed took its sessions along. Starts bring up one new
// server, many at once, right away; what outlived the old one is ended.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	file := filepath.Join(t.TempDir(), "pid")
	for round := range 5 {
		start(t, p, "survivor", "sh", "-c", "trap '' HUP; echo $$ > "+file+".tmp; mv "+file+".tmp "+file+"; while :; do sleep 1; done")
		var pid int
		eventually(t, "the survivor has begun", func() bool {
			b, err := os.ReadFile(file)
			pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
			return err == nil
		})
		os.Remove(file) // Best effort: the next round waits for it.
		mustRaw(t, p.socket, "kill-server")
		eventually(t, "the session is gone", func() bool { return !isRunning(t, p, "survivor") })
		var starts sync.WaitGroup
		for i := range 20 {
			starts.Go(func() {
				if err := p.Start(t.Context(), fmt.Sprint("w", i), provider.Config{Argv: []string{"sleep", "1000"}, WorkDir: "/"}); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		starts.Wait()
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("round %d: what ignored the hang-up still runs: %s", round, stat)
		}
		names, err := p.ListRunning(t.Context(), "")
		if err != nil || len(names) != 20 {
			t.Errorf("round %d: these run: %q, %v", round, names, err)
		}
		mustRaw(t, p.socket, "kill-server")
	}
}

// A client that somebody kills, or a keeper, is made again.
func TestLostClientAndKeeper(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	start(t, p, "w", "sleep", "1000")
	for round := range 5 {
		killed := 0
		for line := range strings.Lines(mustRaw(t, p.socket, "list-clients", "-F", "#{client_pid}")) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			err = syscall.Kill(pid, syscall.SIGKILL)
			if err == syscall.ESRCH {
				continue // Killed in the round before; the server has not read the end of its connection yet.
			}
			if err != nil {
				t.Fatal(err)
			}
			killed++
			eventually(t, "the client has ended", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
		}
		if killed == 0 {
			t.Fatalf("round %d: no client to kill", round)
		}
		if !isRunning(t, p, "w") {
			t.Fatal("not running after the client was lost")
		}
	}
	mustRaw(t, p.socket, "kill-session", "-t", "=den-keeper")
	eventually(t, "it runs without the keeper", func() bool { return isRunning(t, p, "w") })
	start(t, p, "w2", "sleep", "1000")
}

// Commands far longer than a message of tmux go through whole, and nothing of
// them can be seen in a process list of ours.
func TestLongCommand(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	file := filepath.Join(t.TempDir(), "out")
	long := strings.Repeat("0123456789 \n'\"$;#{}\\~é", 5000)
	err := p.Start(t.Context(), "w", provider.Config{
		Argv: []string{"sh", "-c", `printf %s "$1" "$LONG" > "$2.tmp"; mv "$2.tmp" "$2"`, "sh", long, file}, WorkDir: "/", Env: map[string]string{"LONG": long},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	eventually(t, "the command has written", func() bool {
		got, err = os.ReadFile(file)
		return err == nil
	})
	if string(got) != long+long {
		t.Errorf("the command got %d bytes, want %d", len(got), 2*len(long))
	}
	err = p.Start(t.Context(), "too-long", provider.Config{Argv: []string{"true", strings.Repeat("x", 200_000)}, WorkDir: "/"})
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("an argument that no system takes = %v", err)
	}
}

// writeProgram writes a file that is to be executed. Nothing is forked
// meanwhile: a child of another test that has not begun its own program yet
// would hold it open, and what is written to cannot be executed.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Directories and programs whose names tmux, env or a shell would read.
func TestOddProgramsAndDirectories(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	for i, odd := range []string{"#{pane_id}", "#[fg=red] #", "a=b", "$HOME ~", "-x"} {
		dir := filepath.Join(t.TempDir(), odd)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, odd)
		writeProgram(t, program, "#!/bin/sh\npwd > here.tmp; mv here.tmp here\n")
		if err := p.Start(t.Context(), fmt.Sprint("w", i), provider.Config{Argv: []string{program}, WorkDir: dir}); err != nil {
			t.Fatal(err)
		}
		var got []byte
		eventually(t, odd+" has run", func() (ok bool) {
			var err error
			got, err = os.ReadFile(filepath.Join(dir, "here"))
			return err == nil
		})
		if strings.TrimSpace(string(got)) != dir {
			t.Errorf("in %q the program was in %q", dir, got)
		}
	}
}

// A command that ends at once leaves its status and its last words, and no
// footer of tmux.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	for i := range 20 {
		name := fmt.Sprint("w", i)
		start(t, p, name, "sh", "-c", fmt.Sprintf("echo last words %d; exit %d", i, i))
		endedWith(t, p, name, i)
		if text, err := p.Peek(t.Context(), name, 0); err != nil || text != fmt.Sprint("last words ", i) {
			t.Errorf("Peek(%s) = %q, %v", name, text, err)
		}
	}
}

// Of many that end together each has its own status. (Their last words tmux
// 3.3 may lose: it collects all children at the first one's end, read or not.)
func TestManyEndTogether(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			name := fmt.Sprint("w", i)
			if err := p.Start(t.Context(), name, provider.Config{Argv: []string{"sh", "-c", fmt.Sprint("exit ", i)}, WorkDir: "/"}); err != nil {
				t.Error(err)
				return
			}
			endedWith(t, p, name, i)
		})
	}
	all.Wait()
}

func endedWith(t *testing.T, p place, name string, code int) {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		e, err := p.Exit(t.Context(), name)
		if err != nil {
			t.Errorf("Exit(%s): %v", name, err)
			return
		}
		if e == nil {
			continue
		}
		if e.Code != code || e.At.IsZero() {
			t.Errorf("Exit(%s) = %+v, want code %d", name, *e, code)
		}
		return
	}
	t.Errorf("%s does not end", name)
}

// What is left of the cursor reaches up to it, also where the program moved it
// over cells that it wrote nothing to.
func TestCursorRowHasBlankCells(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	start(t, p, "w", "sh", "-c", `printf '>>>\033[C'; read x`)
	var in provider.Input
	eventually(t, "the cursor stands behind the prompt", func() bool {
		var err error
		if in, err = p.Input(t.Context(), "w"); err != nil {
			t.Fatal(err)
		}
		return len(in.CursorRow) == 4
	})
	if in.CursorRow != ">>> " || in.CursorRest != "" {
		t.Errorf("%q and %q", in.CursorRow, in.CursorRest)
	}
}
