package session

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/base/rpc"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/vt"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// impostor returns a session whose host is not den's: it answers every request
// with r, as a program in a container can that has the session's directory.
func impostor(t *testing.T, r cell.Result) *Session {
	t.Helper()
	return hostedBy(t, func(context.Context, *rpc.Call) (any, error) { return r, nil })
}

// hostedBy returns a session whose host answers by a function.
func hostedBy(t *testing.T, answer rpc.Handler) *Session {
	t.Helper()
	run, err := os.MkdirTemp("", "den-run-") // short: a socket goes here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	d := home.Home{Path: t.TempDir()}.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(d.Cells(), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(run, home.RunName("impostor"))
	if err := d.Save(&home.Manifest{ID: d.ID, Name: "x", Status: home.Running, Socket: socket, HostPID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(d.Path, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	listener, err := rpc.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(rpc.Config{
		Version: wire.Version, Den: "test", ID: d.ID, Kind: "host", Name: "the impostor",
		Handler: answer,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func(l *net.UnixListener) { defer close(served); server.Serve(ctx, l) }(listener)
	t.Cleanup(func() { cancel(); <-served })
	return In(d, Options{})
}

// hostIs has a process stand for the session's host.
func hostIs(t *testing.T, s *Session, argv ...string) {
	t.Helper()
	host := exec.Command(argv[0], argv[1:]...)
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Process.Kill(); host.Wait() }) // It is killed, and says so.
	m, err := s.Dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	m.HostPID = host.Process.Pid
	if err := s.Dir.Save(m); err != nil {
		t.Fatal(err)
	}
}

// A host's answer does not choose which file is read as the output of a cell,
// and neither does what lies where the output should be.
func TestAnswerChoosesNoFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "id_ed25519")
	if err := os.WriteFile(secret, []byte("secret\nof\nthe\nuser\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := ident.New(time.Now())
	for name, lay := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"link":    func(path string) error { return os.Symlink(secret, path) },
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-"+id) // as below, a link to elsewhere
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := impostor(t, cell.Result{CellID: id, Status: cell.Done, Output: "1\n2\n3\n4", Truncated: true, OutputFile: secret})
			if err := lay(s.Cells().OutputPath(id)); err != nil {
				t.Fatal(err)
			}
			if name == "directory" {
				if err := os.Link(secret, filepath.Join(filepath.Dir(secret), id+".out")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Dir(secret), s.Dir.Cells()); err != nil {
					t.Fatal(err)
				}
			}
			for _, run := range []Run{{MaxLines: 2}, {MaxBytes: 4}, {}} {
				r, err := s.Run(t.Context(), Run{Code: "x", MaxLines: run.MaxLines, MaxBytes: run.MaxBytes})
				if err != nil || strings.Contains(r.Output, "secret") || r.OutputFile == secret {
					t.Errorf("%+v: %+v, %v", run, r, err)
				}
			}
			if text, err := s.ReadOutput(id); name == "directory" && err == nil {
				t.Errorf("read %q", text)
			}
		})
	}
}

// The id of a cell is a file name, so an answer with another is refused.
func TestAnswerChoosesNoID(t *testing.T) {
	t.Parallel()
	s := impostor(t, cell.Result{CellID: "../../x", Status: cell.Done, Output: "1\n2\n3"})
	if r, err := s.Run(t.Context(), Run{Code: "x", MaxLines: 1}); fault.KindOf(err) != fault.Protocol {
		t.Errorf("run: %+v, %v, want a protocol error", r, err)
	}
}

// An output that is where it belongs is read.
func TestKeptOutputIsRead(t *testing.T) {
	t.Parallel()
	id := ident.New(time.Now())
	s := impostor(t, cell.Result{CellID: id, Status: cell.Done, Output: "1\n[... 2 lines left out ...]\n4", Truncated: true, OutputFile: "/elsewhere"})
	path := s.Cells().OutputPath(id)
	if err := os.WriteFile(path, []byte("1\n2\n3\n4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), Run{Code: "x", MaxLines: 3})
	if err != nil || r.Output != "1\n2\n[... 1 lines left out ...]\n4" || r.OutputFile != path {
		t.Errorf("run: %+v, %v", r, err)
	}
	if text, err := s.ReadOutput(id); err != nil || text != "1\n2\n3\n4\n" {
		t.Errorf("read: %q, %v", text, err)
	}
}

// A host that takes calls and answers none is frozen, whatever is asked. Its
// last recorded screen is shown, and marked.
func TestHostThatAnswersNothing(t *testing.T) {
	t.Parallel()
	s := hostedBy(t, func(ctx context.Context, _ *rpc.Call) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.atOnce = 50 * time.Millisecond
	hostIs(t, s, "sleep", "1000")
	log, err := eventlog.Create(s.Dir.Log(), eventlog.Options{
		Header: eventlog.Header{Cols: 20, Rows: 5}, Clock: func() time.Duration { return 0 }, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	log.Append(eventlog.Output, []byte("before"))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"status": func() error { _, err := s.Status(t.Context()); return err },
		"run":    func() error { _, err := s.Run(t.Context(), Run{Code: "x", Timeout: s.atOnce}); return err },
		"wait":   func() error { _, err := s.Wait(t.Context(), wire.Wait{Timeout: s.atOnce}); return err },
	} {
		if err := ask(); fault.KindOf(err) != fault.Unreachable || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
	shot, err := s.Snapshot(t.Context(), Now(), 0)
	if err != nil || !shot.Frozen || shot.Screen.PlainText() != "before" {
		t.Errorf("snapshot: %+v, %v", shot, err)
	}
	plain, err := s.PlainSnapshot(t.Context(), Now())
	if err != nil || *plain != shot.Plain() {
		t.Errorf("plain snapshot: %+v, %v, want %+v", plain, err, shot.Plain())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if late, err := s.PlainSnapshot(ctx, Now()); err == nil {
		t.Errorf("of a caller that waits no longer: %+v", late)
	}
}

// A host that works, or waits for a processor, is not frozen: it answers late.
func TestHostThatAnswersLate(t *testing.T) {
	t.Parallel()
	s := hostedBy(t, func(ctx context.Context, _ *rpc.Call) (any, error) {
		select {
		case <-time.After(answerGrace + 500*time.Millisecond):
			return cell.Result{Status: cell.Done, Output: "late"}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	hostIs(t, s, "sh", "-c", "while :; do :; done")
	if r, err := s.Run(t.Context(), Run{Code: "x", Timeout: time.Millisecond}); err != nil || r.Output != "late" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A known answer that may not be typed leaves the question, also where the caller's
// time is up meanwhile: a host that looks for as long as it may is not frozen.
func TestRefusedAnswerAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	asks := cell.Result{CellID: ident.New(time.Now()), Status: cell.Running, WaitingFor: cell.ForInput, Question: "Token:"}
	s := hostedBy(t, func(ctx context.Context, _ *rpc.Call) (any, error) {
		select {
		case <-time.After(answerGrace + 100*time.Millisecond): // longer than what a limit alone leaves
			return nil, fault.Errorf(fault.Denied, "the terminal would show it")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	known := cell.Known{Name: "token", Pattern: regexp.MustCompile("Token"), Text: "hush", Secret: true}
	r, err := s.giveKnown(t.Context(), asks, Run{Timeout: time.Millisecond, Known: []cell.Known{known}}, time.Now())
	if err != nil || r.Question != "Token:" || len(r.Answered) > 0 {
		t.Errorf("%+v, %v, want the question", r, err)
	}
}

// A host of an earlier build knows no plain snapshots, and answers with a whole
// one.
func TestPlainSnapshotOfAnEarlierHost(t *testing.T) {
	t.Parallel()
	term := vt.New(vt.Config{Cols: 20, Rows: 3})
	term.Write([]byte("\x1b[31mred\x1b[0m text\x1b]2;title\a"))
	whole := wire.Snapshot{Seq: 7, Screen: screen.Capture(term, 0)}
	s := hostedBy(t, func(context.Context, *rpc.Call) (any, error) { return whole, nil })
	shot, err := s.PlainSnapshot(t.Context(), Now())
	if err != nil || *shot != whole.Plain() || shot.Screen.Text != "red text" || shot.Screen.Title != "title" {
		t.Errorf("%+v, %v, want %+v", shot, err, whole.Plain())
	}
}
