package terminals_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/terminals"
	"den/internal/session/wire"
	"den/internal/testkit/dentest"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-tt-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOME", dir) // only now: the build's cache is below it
	return m.Run()
}

// patience bounds what must happen; nothing waits for it to pass.
const patience = 2 * time.Minute

var patient = terminals.Waiting{Timeout: patience}

// newOptions are those of a Home of the test's own, which must be left without
// processes.
func newOptions(t *testing.T) terminals.Options {
	t.Helper()
	root := home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}
	o := terminals.Options{
		Home: root, Prefix: "mcp", Environ: append(os.Environ(), "PS1=$ "), Dir: t.TempDir(), Shell: []string{"bash", "--norc"},
		Session: session.Options{Version: "test", Binary: den}, Limits: terminals.DefaultLimits(),
	}
	t.Cleanup(func() {
		dirs, err := root.All()
		if err != nil {
			t.Error(err)
		}
		for _, d := range dirs {
			if _, err := session.In(d, o.Session).Kill(context.Background(), time.Second); err != nil {
				t.Error(err)
			}
			if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
				t.Errorf("session %s left processes %v", d.ID, left)
			}
		}
	})
	return o
}

func newClient(t *testing.T, o terminals.Options) *terminals.Client {
	t.Helper()
	c, err := terminals.New(o, "a test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func run(t *testing.T, c *terminals.Client, ref, code string) terminals.Result {
	t.Helper()
	r, err := c.Run(t.Context(), ref, code, patient)
	if err != nil {
		t.Fatalf("run %q: %v", code, err)
	}
	return r
}

func line(text string) wire.Input { return wire.Input{Text: &text, Enter: true} }

// active are the names of the Home's active sessions.
func active(t *testing.T, root home.Home) (names []string) {
	t.Helper()
	dirs, err := root.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			names = append(names, m.Name)
		}
	}
	return names
}

// The client's own shell is opened by the first call that needs it, once, and
// keeps its state.
func TestOwnShell(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	c := newClient(t, o)
	if _, err := c.Snapshot(t.Context(), "", 0, 0); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a look before there is a terminal: %v", err)
	}
	var calls sync.WaitGroup
	var mu sync.Mutex // guards names
	names := map[string]bool{}
	for range 4 {
		calls.Go(func() {
			r, err := c.Run(t.Context(), "", "true", patient)
			for fault.KindOf(err) == fault.Busy { // one at a time
				r, err = c.Run(t.Context(), "", "true", patient)
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			names[r.Session] = true
		})
	}
	calls.Wait()
	if sessions := active(t, o.Home); len(names) != 1 || len(sessions) != 1 || !names[sessions[0]] {
		t.Errorf("the calls used %v, active are %v", names, sessions)
	}
	run(t, c, "", "X=1; cd /")
	if r := run(t, c, "", "echo $X; pwd"); r.Output != "1\n/" || r.ExitCode == nil || *r.ExitCode != 0 || r.Status != string(cell.Done) || r.Note != "" {
		t.Errorf("got %+v", r)
	}
	if r := run(t, c, "", "exit 3"); r.By != cell.ByExit || *r.ExitCode != 3 {
		t.Errorf("the shell's end: %+v", r)
	}
	if r := run(t, c, "", "echo ${X-new}"); r.Output != "new" {
		t.Errorf("after the shell's end: %+v", r)
	}
}

// Two clients never share a shell, and one cannot use the other's unless that
// is allowed. Everybody may look.
func TestClientsAreApart(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	a, b := newClient(t, o), newClient(t, o)
	o.UseOthers = true
	all := newClient(t, o)
	mine := run(t, a, "", "echo of-a").Session
	if r := run(t, b, "", "echo of-b"); r.Session == mine {
		t.Fatalf("both use %s", mine)
	}
	text := "x"
	for what, err := range map[string]error{
		"run":    errorOf(b.Run(t.Context(), mine, "true", patient)),
		"answer": errorOf(b.Answer(t.Context(), mine, line("x"), patient)),
		"type":   errorOf(b.Type(t.Context(), mine, wire.Input{Text: &text})),
		"close":  errorOf(b.CloseTerminal(t.Context(), mine)),
	} {
		if fault.KindOf(err) != fault.Denied || fault.HintOf(err) == "" {
			t.Errorf("%s in another's terminal: %v", what, err)
		}
	}
	if shot, err := b.Snapshot(t.Context(), mine, 0, 0); err != nil || !strings.Contains(shot.Screen.Text, "of-a") {
		t.Errorf("a look at another's terminal: %v", err)
	}
	listed, err := b.List(t.Context())
	if err != nil || len(listed) != 2 || listed[0].Mine || !listed[1].Mine || !listed[1].Shell || listed[0].Session != mine {
		t.Errorf("the list: %+v, %v", listed, err)
	}
	if r := run(t, all, mine, "echo used"); r.Output != "used" || r.Session != mine {
		t.Errorf("where it is allowed: %+v", r)
	}
}

func errorOf[T any](_ T, err error) error { return err }

// When a client goes its terminals end, but for those that it keeps: every
// client may use these.
func TestTerminalsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	c := newClient(t, o)
	// A process that outlives its shell, and a shell that is there.
	left := run(t, c, "", "sleep 1000 & disown; exit").Session
	run(t, c, "", "sleep 1000 &")
	if _, err := c.Open(t.Context(), terminals.Open{Command: []string{"sh", "-c", "trap '' HUP TERM; while :; do sleep 1000; done"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), terminals.Open{Name: "kept", Keep: true}); err != nil {
		t.Fatal(err)
	}
	meanwhile := newClient(t, o)
	if _, err := meanwhile.CloseTerminal(t.Context(), "kept"); fault.KindOf(err) != fault.Denied {
		t.Errorf("a kept terminal of a client that is there: %v", err)
	}
	if err := errors.Join(meanwhile.Close(t.Context()), c.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left := active(t, o.Home); len(left) != 1 || left[0] != "kept" {
		t.Errorf("left are %v", left)
	}
	d, err := o.Home.Find(left)
	if err != nil {
		t.Fatal(err)
	}
	if processes := pty.Marked(home.ProgramMark + "=" + d.ID); len(processes) > 0 {
		t.Errorf("processes %v of a shell that ended are left", processes)
	}
	if _, err := c.Run(t.Context(), "", "true", patient); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("a call of a client that is gone: %v", err)
	}
	if files, err := os.ReadDir(filepath.Join(o.Home.Path, "clients")); err != nil || len(files) != 0 {
		t.Errorf("files of clients: %v, %v", files, err)
	}
	later := newClient(t, o)
	if r := run(t, later, "kept", "echo $((6*7))"); r.Output != "42" {
		t.Errorf("a kept terminal: %+v", r)
	}
	if _, err := later.CloseTerminal(t.Context(), "kept"); err != nil {
		t.Error(err)
	}
}

// The terminals of a client that was killed are ended by the next server.
func TestOrphans(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	living := newClient(t, o)
	run(t, living, "", "true")
	// A client that is not closed: its lock is let go by hand, as the kernel
	// does when a process dies.
	killed, err := terminals.New(o, "")
	if err != nil {
		t.Fatal(err)
	}
	run(t, killed, "", "true")
	if _, err := killed.Open(t.Context(), terminals.Open{Name: "kept", Keep: true}); err != nil {
		t.Fatal(err)
	}
	if err := terminals.CloseOrphans(t.Context(), o); err != nil || len(active(t, o.Home)) != 3 {
		t.Fatalf("while both are there: %v, %v", active(t, o.Home), err)
	}
	if err := killed.LetGo(); err != nil {
		t.Fatal(err)
	}
	if err := terminals.CloseOrphans(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if left := active(t, o.Home); len(left) != 2 {
		t.Errorf("left are %v", left)
	}
	if r := run(t, living, "", "echo here"); r.Output != "here" {
		t.Errorf("the living client: %+v", r)
	}
	if files, err := os.ReadDir(filepath.Join(o.Home.Path, "clients")); err != nil || len(files) != 1 {
		t.Errorf("files of clients: %v, %v", files, err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	o.Limits.Terminals = 2
	c := newClient(t, o)
	for range 2 {
		if _, err := c.Open(t.Context(), terminals.Open{Command: []string{"cat"}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Open(t.Context(), terminals.Open{})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(fault.HintOf(err), "close") {
		t.Errorf("one too many: %v", err)
	}
	if _, err := c.Run(t.Context(), "", "true", patient); fault.KindOf(err) != fault.Busy {
		t.Errorf("a shell too many: %v", err)
	}
	names := active(t, o.Home)
	if _, err := c.Snapshot(t.Context(), "", 0, 0); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), names[0]+", "+names[1]) {
		t.Errorf("which one? %v", err)
	}
	if _, err := c.CloseTerminal(t.Context(), names[0]); err != nil {
		t.Fatal(err)
	}
	run(t, c, "", "true")
	for _, bad := range []terminals.Open{
		{Cols: 5}, {Rows: 1}, {Cols: 501}, {Rows: 1000}, {Dir: "/nonexistent"}, {Name: "../x"}, {Name: names[1]},
	} {
		if _, err := c.Open(t.Context(), bad); err == nil {
			t.Errorf("%+v was opened", bad)
		}
	}
}

// Terminals that nobody uses are closed, but not those that are kept, are used
// by a call, or whose code runs.
func TestIdle(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	c := newClient(t, o)
	for _, name := range []string{"idle", "busy", "asking"} {
		if _, err := c.Open(t.Context(), terminals.Open{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Open(t.Context(), terminals.Open{Name: "kept", Keep: true}); err != nil {
		t.Fatal(err)
	}
	run(t, c, "idle", "true")
	if r, err := c.Run(t.Context(), "busy", "sleep 1000", terminals.Waiting{Timeout: time.Millisecond}); err != nil || r.Status != string(cell.TimedOut) {
		t.Fatalf("%+v, %v", r, err)
	}
	run(t, c, "asking", "read x")
	if err := c.CloseIdle(t.Context(), time.Now()); err != nil || len(active(t, o.Home)) != 4 {
		t.Errorf("too early: %v, %v", active(t, o.Home), err)
	}
	if err := c.CloseIdle(t.Context(), time.Now().Add(o.Limits.Idle+time.Minute)); err != nil {
		t.Fatal(err)
	}
	if left := strings.Join(active(t, o.Home), " "); left != "busy kept" {
		t.Errorf("left are %s", left)
	}
}

// A question is told, with its tool; code that is asked for meanwhile is not
// sent.
func TestQuestions(t *testing.T) {
	t.Parallel()
	c := newClient(t, newOptions(t))
	r := run(t, c, "", `read -p "name? " n; echo "hello $n"`)
	if r.Status != terminals.Asking || r.WaitingFor != cell.ForInput || r.Question != "name?" || !strings.Contains(r.Note, "answer") {
		t.Fatalf("got %+v", r)
	}
	_, err := c.Run(t.Context(), "", "true", patient)
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), `asks "name?"`) || !strings.Contains(fault.HintOf(err), "answer") {
		t.Errorf("more code: %v (%s)", err, fault.HintOf(err))
	}
	listed, err := c.List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Code != terminals.Asking || listed[0].Question != "name?" {
		t.Errorf("the list: %+v, %v", listed, err)
	}
	answered, err := c.Answer(t.Context(), "", line("bob"), patient)
	if err != nil || answered.Status != string(cell.Done) || !strings.HasSuffix(answered.Output, "hello bob") || *answered.ExitCode != 0 {
		t.Errorf("got %+v, %v", answered, err)
	}
	if _, err := c.Answer(t.Context(), "", line("again"), patient); fault.KindOf(err) != fault.NotFound || strings.Contains(fault.HintOf(err), "den ") {
		t.Errorf("an answer to nothing: %v (%s)", err, fault.HintOf(err))
	}
	if r := run(t, c, "", "echo 'open"); r.Status != terminals.Asking || r.WaitingFor != cell.ForContinuation {
		t.Errorf("half a line: %+v", r)
	}
}

// A client reads no output of its code twice, unless it asks for what is done
// once more, or the program has changed what stood there.
func TestOutputGoesOn(t *testing.T) {
	t.Parallel()
	c := newClient(t, newOptions(t))
	expect := func(r terminals.Result, err error, output string, continued bool) {
		t.Helper()
		if err != nil || r.Output != output || r.Continued != continued {
			t.Errorf("output %q, continued %v, want %q, %v: %v", r.Output, r.Continued, output, continued, err)
		}
	}
	expect(run(t, c, "", `echo one; read -p "a? " a; echo two; read -p "b? " b; echo three`), nil, "one\na? ", false)
	r, err := c.Answer(t.Context(), "", line("x"), patient)
	expect(r, err, "x\ntwo\nb? ", true)
	r, err = c.Answer(t.Context(), "", line("y"), patient)
	expect(r, err, "y\nthree", true)
	r, err = c.Await(t.Context(), "", patient)
	expect(r, err, "one\na? x\ntwo\nb? y\nthree", false)

	expect(run(t, c, "", `printf 'at 1 %%'; read -p ", go on? " a; printf '\e[A\rat 2 %%\e[K\n'; echo end`), nil, "at 1 %, go on? ", false)
	r, err = c.Answer(t.Context(), "", line(""), patient)
	expect(r, err, "at 2 %\nend", false)
}

// Code whose caller's time is up runs on, and can be waited for.
func TestTimeout(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	c := newClient(t, o)
	gate := fifo(t)
	r, err := c.Run(t.Context(), "", "cat "+gate, terminals.Waiting{Timeout: 100 * time.Millisecond})
	if err != nil || r.Status != string(cell.TimedOut) || !strings.Contains(r.Note, "wait") {
		t.Fatalf("got %+v, %v", r, err)
	}
	if r, err = c.Await(t.Context(), "", terminals.Waiting{Timeout: 100 * time.Millisecond}); err != nil || r.Status != string(cell.TimedOut) {
		t.Errorf("a wait: %+v, %v", r, err)
	}
	open(t, gate)
	if r, err = c.Await(t.Context(), "", patient); err != nil || r.Status != string(cell.Done) || r.Output != "go" {
		t.Errorf("the end: %+v, %v", r, err)
	}
	if opened, err := c.Open(t.Context(), terminals.Open{Command: []string{"cat"}}); err != nil {
		t.Error(err)
	} else if _, err := c.Await(t.Context(), opened.Session, patient); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a wait for no code: %v", err)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open lets the reader of a fifo go on.
func open(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// A cancelled call leaves the code running, and says so. While it waits it
// reports what the screen shows.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	o.ReportEvery = time.Millisecond
	c := newClient(t, o)
	gate := fifo(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Run(ctx, "", "echo begun; cat "+gate, terminals.Waiting{Timeout: patience, Report: func(line string) {
		if line == "begun" {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still running") || !strings.Contains(fault.HintOf(err), "wait") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	if _, err := c.Run(t.Context(), "", "true", patient); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "still running") {
		t.Errorf("the next call: %v", err)
	}
	open(t, gate)
	if r, err := c.Await(t.Context(), "", patient); err != nil || r.Output != "begun\ngo" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// Long output is cut, and a file has all of it.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	o := newOptions(t)
	o.Limits.Output = 1000
	c := newClient(t, o)
	for _, lines := range []int{1000, 200_000} { // in memory, and in a file of the host
		r := run(t, c, "", fmt.Sprintf("seq %d", lines))
		whole, err := os.ReadFile(r.OutputFile)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Truncated || len(r.Output) > 1100 || !strings.HasPrefix(r.Output, "1\n2\n") || !strings.HasSuffix(r.Output, fmt.Sprintf("\n%d", lines)) || !strings.Contains(r.Output, "bytes left out") {
			t.Errorf("%d lines: %q", lines, r.Output)
		}
		if strings.Count(string(whole), "\n") != lines {
			t.Errorf("%d lines: the file has %d bytes", lines, len(whole))
		}
	}
}

// A REPL is used as a shell is, and its terminal tells what it is.
func TestREPL(t *testing.T) {
	t.Parallel()
	c := newClient(t, newOptions(t))
	opened, err := c.Open(t.Context(), terminals.Open{Name: "py", Command: []string{"python3", "-q"}, Cols: 100, Rows: 30})
	if err != nil || opened.Cols != 100 || opened.Rows != 30 || opened.PID == 0 {
		t.Fatalf("%+v, %v", opened, err)
	}
	if r := run(t, c, "py", "print(6*7)"); r.Output != "42" || r.ExitCode != nil || r.Session != "py" {
		t.Errorf("got %+v", r)
	}
	if r := run(t, c, "py", `x = input("go? ")`); r.Status != terminals.Asking {
		t.Errorf("got %+v", r)
	}
	if r, err := c.Answer(t.Context(), "py", wire.Input{Keys: []string{"y", "Enter"}}, patient); err != nil || r.Status != string(cell.Done) {
		t.Errorf("got %+v, %v", r, err)
	}
	typed, err := c.Type(t.Context(), "py", line("print('wa' + 'ited')"))
	if err != nil {
		t.Fatal(err)
	}
	want := "waited"
	if w, err := c.Wait(t.Context(), "py", wire.Wait{Text: &want, After: typed.Seq, Timeout: patience}, nil); err != nil || !w.Matched || w.Session != "py" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := c.CloseTerminal(t.Context(), "py"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), "py", "1", patient); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("code for a closed terminal: %v", err)
	}
}
