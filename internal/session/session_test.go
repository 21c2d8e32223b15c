package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/rpc"
	"den/internal/process/pty"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
	"den/internal/testkit/dentest"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds den, and keeps its sockets apart from those of people.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-s-") // short: sockets go here
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
	if err := emptyHome(filepath.Join(dir, "user")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// emptyHome gives shells a home directory of their own: they keep histories
// there. fish would read all man pages if there were no completions yet.
func emptyHome(dir string) error {
	os.Setenv("HOME", dir)
	return os.MkdirAll(filepath.Join(dir, ".local/share/fish/generated_completions"), 0o700)
}

// patience bounds what must happen; nothing waits for it to pass.
const patience = 2 * time.Minute

// start makes a session that ends with the test and must leave nothing behind.
func start(t *testing.T, o session.Options, command ...string) (*session.Session, *home.Manifest) {
	t.Helper()
	return startWith(t, o, home.Spec{}, command...)
}

// userHome is a home directory of the test's own. fish would spend seconds on
// making completions of all manual pages in a new one; the directory for them
// keeps it from that.
func userHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".local", "share", "fish", "generated_completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startWith is start with the limit of the log's size and the marks of a spec.
func startWith(t *testing.T, o session.Options, spec home.Spec, command ...string) (*session.Session, *home.Manifest) {
	t.Helper()
	o.Version, o.Binary = "test", den
	root := home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}
	env := append(session.WithoutTerminal(os.Environ()), session.TerminalEnv(root, session.DefaultTerm, "/", "test")...)
	s, m, err := session.Create(t.Context(), root, home.Spec{
		Name: "t", Command: command, Cwd: "/", Env: append(env, "PS1=$ ", "HOME="+userHome(t)), Term: session.DefaultTerm,
		Cols: 80, Rows: 24, RecordInput: home.RecordAuto, LogLimit: spec.LogLimit, Marks: spec.Marks,
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := session.In(s.Dir, session.Options{}).Kill(context.Background(), time.Second); err != nil {
			t.Error(err)
		}
		if left := pty.Marked(home.ProgramMark + "=" + s.Dir.ID); len(left) > 0 {
			t.Errorf("the session left processes %v", left)
		}
	})
	return s, m
}

// fifo is a pipe on which a program can wait for the test.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// release lets the reader of a fifo go on.
func release(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until the screen shows the text.
func waitFor(t *testing.T, s *session.Session, text string) *wire.WaitResult {
	t.Helper()
	r, err := s.Wait(t.Context(), wire.Wait{Text: &text, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Matched {
		t.Fatalf("waiting for %q: %+v", text, r)
	}
	return r
}

// killHost kills the host without giving it a chance to report.
func killHost(t *testing.T, s *session.Session, m *home.Manifest) {
	t.Helper()
	if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func upgrade(t *testing.T, s *session.Session) {
	t.Helper()
	if _, err := s.Upgrade(t.Context(), den); err != nil {
		t.Fatal(err)
	}
}

// A cell and a wait that were asked of a host are answered by the binary that
// replaced it.
func TestRunAndWaitGoOnOverAnUpgrade(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "bash", "--norc")
	gate := fifo(t)
	ran := make(chan error, 1)
	var result cell.Result
	go func() {
		var err error
		result, err = s.Run(t.Context(), session.Run{Code: "echo begun; read x < " + gate + "; echo done $x", Timeout: patience})
		ran <- err
	}()
	waitFor(t, s, "\nbegun")
	waited := make(chan error, 1)
	var seen *wire.WaitResult
	go func() {
		text := "done go"
		var err error
		seen, err = s.Wait(t.Context(), wire.Wait{Text: &text, Timeout: patience})
		waited <- err
	}()
	upgrade(t, s)
	upgrade(t, s)
	release(t, gate)
	if err := <-ran; err != nil || result.Status != cell.Done || result.Output != "begun\ndone go" {
		t.Errorf("run: %+v, %v", result, err)
	}
	if err := <-waited; err != nil || !seen.Matched || seen.Text != "done go" {
		t.Errorf("wait: %+v, %v", seen, err)
	}
}

// What can be asked of a session that is over is answered from its files.
func TestOver(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "sh", "-c", "echo last line; exit 3")
	if r, err := s.Wait(t.Context(), wire.Wait{Exit: true, Timeout: patience}); err != nil || !r.Matched {
		t.Fatalf("wait for the exit: %+v, %v", r, err)
	}
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := waitFor(t, s, "last line"); r.ExitCode == nil || *r.ExitCode != 3 {
		t.Errorf("wait: %+v", r)
	}
	for name, at := range map[string]session.Moment{"now": session.Now(), "just now": session.At(-time.Nanosecond)} {
		if shot, err := s.Snapshot(t.Context(), at, session.All); err != nil || !strings.Contains(shot.Screen.PlainText(), "last line") {
			t.Errorf("snapshot of %s: %+v, %v", name, shot, err)
		}
	}
	if shot, err := s.Snapshot(t.Context(), session.At(0), 0); err != nil || strings.Contains(shot.Screen.PlainText(), "last line") {
		t.Errorf("snapshot of the start: %+v, %v", shot, err)
	}
	if _, err := s.Snapshot(t.Context(), session.At(-24*time.Hour), 0); fault.KindOf(err) != fault.Usage {
		t.Errorf("snapshot of yesterday: %v, want usage", err)
	}
	if st, err := s.Status(t.Context()); err != nil || st.Status != string(home.Exited) || st.Log.Segments == 0 {
		t.Errorf("status: %+v, %v", st, err)
	}
	for name, ask := range map[string]func() error{
		"run":         func() error { _, err := s.Run(t.Context(), session.Run{Code: "true"}); return err },
		"input":       func() error { _, err := s.Input(t.Context(), wire.Input{Keys: []string{"Enter"}}); return err },
		"host status": func() error { _, err := s.HostStatus(t.Context()); return err },
		"attach":      func() error { _, err := s.Attach(wire.Attach{}).Run(t.Context(), nil); return err },
	} {
		if err := ask(); fault.KindOf(err) != fault.NotRunning {
			t.Errorf("%s: %v, want not running", name, err)
		}
	}
}

// Killing a session whose host was killed ends what that left running.
func TestKillOfALostSession(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "sh", "-c", "trap '' HUP; echo up; while :; do read x; done <"+fifo(t))
	waitFor(t, s, "up")
	killHost(t, s, m)
	killed, err := s.Kill(t.Context(), time.Second)
	if err != nil || killed.Status != string(home.Destroyed) {
		t.Fatalf("kill: %+v, %v", killed, err)
	}
	if left := pty.Marked(home.ProgramMark + "=" + s.Dir.ID); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if again, err := s.Kill(t.Context(), time.Second); err != nil || again.Status != string(home.Destroyed) {
		t.Errorf("kill again: %+v, %v", again, err)
	}
}

// Killing a session whose program has ended ends what that left running.
func TestKillOfAnEndedSession(t *testing.T) {
	t.Parallel()
	// The program ends once the other is out of its session: the hang-up of the
	// terminal would end that one too.
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "sh", "-c", "(setsid sh -c 'echo up > "+gate+"; sleep 1000; true' >/dev/null 2>&1 </dev/null &); read x < "+gate+"; exit 3")
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	mark := home.ProgramMark + "=" + s.Dir.ID
	if left := pty.Marked(mark); len(left) == 0 {
		t.Fatal("nothing outlives the program")
	}
	killed, err := s.Kill(t.Context(), time.Second)
	if err != nil || killed.Status != string(home.Destroyed) {
		t.Errorf("kill: %+v, %v", killed, err)
	}
	if left := pty.Marked(mark); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// A wait that the host answers when the program ends, and the same wait of the
// session that is over, have one answer.
func TestPastWaitEqualsLiveWait(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "sh", "-c", "printf 'hello there'; read x < "+gate+"; exit 3")
	hash := waitFor(t, s, "hello").ScreenHash
	hello, absent, pattern := "hello", "absent", "h.*o t"
	waits := map[string]wire.Wait{
		"text":         {Text: &hello, Exit: true},
		"absent text":  {Text: &absent},
		"regex":        {Regex: &pattern, Exit: true},
		"gone":         {Gone: &hello},
		"changed":      {Changed: &hash},
		"exit":         {Exit: true},
		"idle":         {Idle: time.Hour},
		"stable":       {Stable: time.Hour},
		"ready":        {Ready: true},
		"a late event": {After: 1 << 40, Text: &hello},
		"late exit":    {After: 1 << 40, Exit: true},
	}
	type answer struct {
		name string
		r    *wire.WaitResult
		err  error
	}
	answers := make(chan answer, len(waits))
	for name, w := range waits {
		w.Timeout = patience
		go func() {
			r, err := s.Wait(t.Context(), w)
			answers <- answer{name, r, err}
		}()
	}
	release(t, gate)
	live := map[string]*wire.WaitResult{}
	for range waits {
		a := <-answers
		if a.err != nil {
			t.Fatalf("%s: %v", a.name, a.err)
		}
		live[a.name] = a.r
	}
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, w := range waits {
		past, err := s.Wait(t.Context(), w)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		now := live[name]
		past.ElapsedMS, now.ElapsedMS = 0, 0
		past.Seq, now.Seq = 0, 0 // the host's last events may come after its answer
		if !reflect.DeepEqual(past, now) {
			t.Errorf("%s:\nlive %+v\npast %+v", name, now, past)
		}
	}
}

// A session is reached by whatever the dialer makes of its record: here by a
// pipe inside this process, while the socket is not where the record says.
func TestDialer(t *testing.T) {
	t.Parallel()
	var moved string
	var dialed atomic.Int32
	relay := func(ctx context.Context, m *home.Manifest) (net.Conn, error) {
		dialed.Add(1)
		host, err := new(net.Dialer).DialContext(ctx, "unix", moved)
		if err != nil {
			return nil, err
		}
		ours, theirs := net.Pipe()
		go func() {
			io.Copy(host, theirs) // Best effort, as are all below: either side may close.
			host.Close()
		}()
		go func() {
			io.Copy(theirs, host)
			theirs.Close()
		}()
		return ours, nil
	}
	s, m := start(t, session.Options{Dial: relay}, "bash", "--norc")
	moved = m.Socket + "-moved"
	if err := os.Rename(m.Socket, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Rename(moved, m.Socket) }) // for the kill; Best effort: it may be over
	if _, err := session.In(s.Dir, session.Options{}).HostStatus(t.Context()); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("by the record's socket: %v, want unreachable", err)
	}
	if r, err := s.Run(t.Context(), session.Run{Code: "echo $((6*7))", Timeout: patience}); err != nil || r.Output != "42" {
		t.Errorf("run: %+v, %v", r, err)
	}
	if _, err := s.Input(t.Context(), wire.Input{Text: new("echo typed"), Enter: true}); err != nil {
		t.Error(err)
	}
	waitFor(t, s, "\ntyped")
	if shot, err := s.Snapshot(t.Context(), session.Now(), 0); err != nil || !strings.Contains(shot.Screen.PlainText(), "42") {
		t.Errorf("snapshot: %+v, %v", shot, err)
	}
	if dialed.Load() < 4 {
		t.Errorf("the dialer was used %d times", dialed.Load())
	}
	if killed, err := s.Kill(t.Context(), time.Second); err != nil || killed.Status != string(home.Destroyed) {
		t.Errorf("kill: %+v, %v", killed, err)
	}
}

// A host cuts off a terminal that takes nothing for too long. When it goes on
// it is attached again, and sees the screen as it is.
func TestAttachGoesOnWhenCutOff(t *testing.T) {
	t.Parallel()
	var last atomic.Pointer[net.Conn]
	dial := func(ctx context.Context, m *home.Manifest) (net.Conn, error) {
		c, err := rpc.Unix(m.Socket)(ctx)
		last.Store(&c)
		return c, err
	}
	s, _ := start(t, session.Options{Dial: dial}, "cat")
	repaints := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := s.Attach(wire.Attach{ReadOnly: true}).Run(ctx, func(f wire.Frame) {
		if !f.Repaint {
			return
		}
		if repaints++; repaints == 3 {
			cancel()
			return
		}
		(*last.Load()).Close() // Best effort: a broken connection is what is wanted.
	})
	if repaints != 3 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d repaints, then %v", repaints, err)
	}
}

// Whoever is attached stays so over an upgrade, and all that was typed arrives
// once.
func TestAttachGoesOnOverAnUpgrade(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "sh", "-c", "stty -echo; echo go; while read l; do echo \"<$l>\"; done")
	waitFor(t, s, "go")
	a := s.Attach(wire.Attach{Cols: 80, Rows: 24})
	repaints := make(chan struct{}, 16) // one a connection, and one for each time this test is slow
	ended := make(chan *wire.Exit, 1)
	go func() {
		exit, err := a.Run(t.Context(), func(f wire.Frame) {
			if f.Repaint {
				select {
				case repaints <- struct{}{}:
				default:
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
		ended <- exit
	}()
	<-repaints
	var want strings.Builder
	for i := range 20 {
		a.Send(fmt.Appendf(nil, "line %d\r", i))
		if i%5 == 2 {
			upgrade(t, s)
		}
		fmt.Fprintf(&want, "<line %d>\n", i)
	}
	waitFor(t, s, "<line 19>")
	if shot, err := s.Snapshot(t.Context(), session.Now(), session.All); err != nil || !strings.Contains(shot.Screen.PlainText(), want.String()[:want.Len()-1]) {
		t.Errorf("typed lines: %+v, %v", shot.Screen.PlainText(), err)
	}
	a.Send([]byte("\x04"))
	if exit := <-ended; exit == nil || exit.Code != 0 {
		t.Errorf("exit: %+v", exit)
	}
}

// Following ends with the session, also when its host was killed and wrote no
// last event.
func TestFollowEndsWithTheHost(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "sh", "-c", "echo one; cat")
	waitFor(t, s, "one")
	seen := make(chan struct{})
	var text strings.Builder
	var last uint64
	followed := make(chan error, 1)
	go func() {
		followed <- s.Follow(t.Context(), 0, func(ev eventlog.Event) error {
			if ev.Seq <= last {
				t.Errorf("event %d after %d", ev.Seq, last)
			}
			last = ev.Seq
			if out, ok := ev.Output(); ok {
				text.Write(out)
				if strings.Contains(text.String(), "two") {
					select {
					case <-seen:
					default:
						close(seen)
					}
				}
			}
			return nil
		})
	}()
	if _, err := s.Input(t.Context(), wire.Input{Text: new("two"), Enter: true}); err != nil {
		t.Fatal(err)
	}
	<-seen
	killHost(t, s, m)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(text.String(), "one") {
		t.Errorf("followed %q", text.String())
	}
}

// Whoever has stopped following a session, or got no answer from its host, keeps
// no file of the session open, and so no goroutine and no thread.
func TestCallsLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "sh", "-c", "echo one; cat")
	waitFor(t, s, "one")
	following, stop := context.WithCancel(t.Context())
	if err := s.Follow(following, 0, func(eventlog.Event) error { stop(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	if err := syscall.Kill(m.HostPID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(m.HostPID, syscall.SIGCONT) })
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := s.HostStatus(ctx); err == nil {
			t.Error("a stopped host answers")
		}
		if err := s.WaitGone(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a stopped host is gone: %v", err)
		}
		cancel()
	}
	patient, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var open []string
	err := poll.Until(patient, func() (bool, error) {
		open = openBelow(t, s.Dir.Path)
		return len(open) == 0, nil
	})
	if err != nil {
		t.Errorf("%v, with %q open", err, open)
	}
}

// openBelow lists the files of a directory that this process has open.
func openBelow(t *testing.T, dir string) (open []string) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, dir+"/") {
			open = append(open, path)
		}
	}
	return open
}

// A cell that died with its host is told as failed, not as running.
func TestPollOfACellWhoseHostWasKilled(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "bash", "--norc")
	fired, err := s.Fire(t.Context(), "echo up; read x < "+fifo(t), patience)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, s, "\nup")
	if r, err := s.Poll(fired.CellID); err != nil || r.Final() {
		t.Errorf("poll: %+v, %v", r, err)
	}
	killHost(t, s, m)
	if r, err := s.Poll(fired.CellID); err != nil || r.Status != cell.Failed || !strings.Contains(r.Output, "lost") {
		t.Errorf("poll: %+v, %v", r, err)
	}
}

// A session whose files are not here is asked of its host: its present, its
// past and its log, over upgrades.
func TestRemote(t *testing.T) {
	t.Parallel()
	here, m := start(t, session.Options{}, "bash", "--norc")
	far := session.In(home.Dir{ID: here.Dir.ID, Path: "/nowhere"}, session.Options{
		Remote: true,
		Dial: func(ctx context.Context, _ *home.Manifest) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", m.Socket)
		},
	})
	if r, err := far.Run(t.Context(), session.Run{Code: "echo first; exit_code=1; echo second", Timeout: patience}); err != nil || r.Output != "first\nsecond" {
		t.Fatalf("run: %+v, %v", r, err)
	}
	waitFor(t, far, "second")
	middle, err := far.LastSeq(t.Context())
	if err != nil || middle == 0 {
		t.Fatalf("last seq: %d, %v", middle, err)
	}
	type seen struct {
		Seq        uint64
		Code, Data string
	}
	collect := func(s *session.Session) <-chan []seen {
		out := make(chan []seen, 1)
		go func() {
			var all []seen
			if err := s.Follow(t.Context(), 0, func(ev eventlog.Event) error {
				all = append(all, seen{ev.Seq, ev.Code, string(ev.Data)})
				return nil
			}); err != nil {
				t.Error(err)
			}
			out <- all
		}()
		return out
	}
	byHost := collect(far)
	upgrade(t, far)
	if _, err := far.Input(t.Context(), wire.Input{Text: new("clear; echo third"), Enter: true}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, far, "third\n")
	for _, at := range []session.Moment{session.Now(), session.AtSeq(middle), session.At(0), session.At(-time.Nanosecond)} {
		want, err := here.Snapshot(t.Context(), at, session.All)
		if err != nil {
			t.Fatal(err)
		}
		got, err := far.Snapshot(t.Context(), at, session.All)
		if err != nil {
			t.Fatal(err)
		}
		if got.Seq != want.Seq || got.Screen.PlainText() != want.Screen.PlainText() || got.Screen.Hash != want.Screen.Hash {
			t.Errorf("%+v: seq %d and %q, want seq %d and %q", at, got.Seq, got.Screen.PlainText(), want.Seq, want.Screen.PlainText())
		}
		for name, s := range map[string]*session.Session{"here": here, "far": far} {
			if plain, err := s.PlainSnapshot(t.Context(), at); err != nil || *plain != want.Plain() {
				t.Errorf("%+v, plain, %s: %+v, %v, want %+v", at, name, plain, err, want.Plain())
			}
		}
	}
	if _, err := far.Poll(""); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("poll: %v, want unsupported", err)
	}
	if _, err := far.Input(t.Context(), wire.Input{Text: new("exit"), Enter: true}); err != nil {
		t.Fatal(err)
	}
	got, want := <-byHost, <-collect(here)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the host's log has %d events, the files %d:\n%v\n%v", len(got), len(want), got, want)
	}
	if err := here.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Snapshot(t.Context(), session.Now(), 0); fault.KindOf(err) != fault.Unreachable {
		t.Errorf("snapshot when the host is gone: %v, want unreachable", err)
	}
}
