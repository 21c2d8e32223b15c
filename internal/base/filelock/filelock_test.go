package filelock_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/base/poll"
)

// roleVar makes the test binary another process of a test: it does what the
// role says with the file that its first argument names, prints a line and
// waits until its input is closed.
const roleVar = "DEN_FILELOCK_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role, os.Args[1]); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")
	io.Copy(io.Discard, os.Stdin) // Best effort: its end is what is waited for.
}

func play(role, path string) error {
	switch role {
	case "hold":
		_, err := filelock.Try(path)
		return err
	case "hold-byte-7":
		_, err := filelock.WaitAt(context.Background(), path, 7)
		return err
	case "hold-dir":
		_, err := filelock.WaitDir(context.Background(), path)
		return err
	case "inherit": // the lock is on descriptor 3
		return nil
	case "exec": // takes the lock and becomes another program with it
		f, err := filelock.Try(path)
		if err != nil {
			return err
		}
		if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETFD, 0); errno != 0 {
			return errno
		}
		if err := os.Setenv(roleVar, "inherit"); err != nil {
			return err
		}
		return syscall.Exec(os.Args[0], os.Args, os.Environ())
	case "probe":
		held, err := filelock.Held(path)
		if err == nil && !held {
			err = errors.New("the lock is not held")
		}
		return err
	}
	return errors.New("unknown role " + role)
}

// other is another process with a role.
type other struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// start returns when the process has done what its role says.
func start(t *testing.T, role, path string, change func(*exec.Cmd)) *other {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, path)
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cmd)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := &other{cmd: cmd, stdin: stdin}
	t.Cleanup(o.end)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("process with role %s: %q, %v", role, line, err)
	}
	return o
}

// end lets the process finish and waits for it. It may be called twice.
func (o *other) end() {
	o.stdin.Close() // Best effort: it may be gone.
	o.cmd.Wait()    // Best effort: how it ended is the test's to know.
}

func (o *other) kill(t *testing.T) {
	t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	o.cmd.Wait() // Best effort: it was killed.
}

func lockPath(t *testing.T) string { return filepath.Join(t.TempDir(), "lock") }

func wantHeld(t *testing.T, path string, want bool) {
	t.Helper()
	if held, err := filelock.Held(path); err != nil || held != want {
		t.Errorf("held: %v, %v; want %v", held, err, want)
	}
}

func TestHeldByAnotherProcess(t *testing.T) {
	path := lockPath(t)
	wantHeld(t, path, false) // missing
	holder := start(t, "hold", path, nil)
	wantHeld(t, path, true)
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("try a held lock: %v", err)
	}
	holder.end()
	wantHeld(t, path, false)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	wantHeld(t, path, true)
	f.Close()
	wantHeld(t, path, false)
}

func TestReleasedWhenHolderIsKilled(t *testing.T) {
	path := lockPath(t)
	holder := start(t, "hold", path, nil)
	var watches []<-chan struct{} // they do not hinder each other
	for _, pid := range []int{0, holder.cmd.Process.Pid, os.Getppid()} {
		released, err := filelock.Released(t.Context(), path, pid)
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, released)
	}
	for _, released := range watches {
		select {
		case <-released:
			t.Fatal("released while it is held")
		default:
		}
	}
	holder.kill(t)
	for _, released := range watches {
		<-released
	}
	wantHeld(t, path, false)
	if _, err := filelock.Released(t.Context(), filepath.Join(t.TempDir(), "none"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("watch a missing file: %v", err)
	}
}

// Whoever no longer wants to know leaves nothing behind, and many who wait take
// no threads.
func TestReleasedCostsNoThreads(t *testing.T) {
	path := lockPath(t)
	holder := start(t, "hold", path, nil)
	const watches = 100
	before := pprof.Lookup("threadcreate").Count()
	ctx, cancel := context.WithCancel(t.Context())
	for i := range watches {
		if _, err := filelock.Released(ctx, path, i%2*holder.cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		wantHeld(t, path, true) // a system call, after each of which a blocked thread would be replaced
	}
	if made := pprof.Lookup("threadcreate").Count() - before; made > watches/4 {
		t.Errorf("%d watches of a held lock made %d threads", watches, made)
	}
	cancel()
	patient, enough := context.WithTimeout(t.Context(), 2*time.Minute)
	defer enough()
	if err := poll.Until(patient, func() (bool, error) { return open(t, path) == 0, nil }); err != nil {
		t.Errorf("%d watches remain after their context: %v", open(t, path), err)
	}
}

// open counts this process's descriptors of a file.
func open(t *testing.T, path string) (n int) {
	t.Helper()
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	fds, err := filepath.Glob("/dev/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if fi, err := os.Stat(fd); err == nil && os.SameFile(file, fi) {
			n++
		}
	}
	return n
}

// A descriptor hands the lock on: there is no moment in which it is free.
func TestInheritedByChild(t *testing.T) {
	path := lockPath(t)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	child := start(t, "inherit", path, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{f} })
	f.Close()
	wantHeld(t, path, true)
	child.kill(t)
	wantHeld(t, path, false)
}

// A child that is not given the descriptor does not keep the lock.
func TestNotInheritedByAccident(t *testing.T) {
	path := lockPath(t)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "inherit", path, nil)
	f.Close()
	wantHeld(t, path, false)
}

// A lock that is released is free, also while a child that is just being started
// has a descriptor of it.
func TestReleasedWhileAChildStarts(t *testing.T) {
	path := lockPath(t)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	start(t, "inherit", path, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{f} })
	if err := filelock.Release(f); err != nil {
		t.Error(err)
	}
	wantHeld(t, path, false)
}

func TestHeldAcrossExec(t *testing.T) {
	path := lockPath(t)
	holder := start(t, "exec", path, nil)
	wantHeld(t, path, true)
	holder.kill(t)
	wantHeld(t, path, false)
}

// Somebody who may only read the file can probe it, and the probe does not
// open it for writing.
func TestProbeWithReadAccess(t *testing.T) {
	path := lockPath(t)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		wantHeld(t, path, true)
		return
	}
	start(t, "probe", shareWithOthers(t, path), asNobody(t))
}

// shareWithOthers gives the lock file a second name that every user can read.
func shareWithOthers(t *testing.T, path string) string {
	t.Helper()
	dir := sharedDir(t)
	shared := filepath.Join(dir, "lock")
	if err := os.Link(path, shared); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o444); err != nil {
		t.Fatal(err)
	}
	return shared
}

func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "den-lock-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asNobody runs the process as another user, with a binary that this user can
// reach.
func asNobody(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(sharedDir(t), "other")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	return func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = binary, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

// A failed Try closes no file that was open for writing: watchers would take
// that for the holder's end.
func TestTryOfHeldLockLeavesFileAlone(t *testing.T) {
	path := lockPath(t)
	f, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	events := watchWrites(t, filepath.Dir(path))
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("%v", err)
	}
	if n := events(); n != 0 {
		t.Errorf("%d events of a file closed after writing", n)
	}
}

func TestWaitersTakeTurns(t *testing.T) {
	path := lockPath(t)
	for name, ctx := range map[string]context.Context{
		"in the kernel": context.Background(),
		"in a context":  t.Context(),
	} {
		holder := start(t, "hold", path, nil)
		var inside, had atomic.Int32
		var waiters sync.WaitGroup
		for range 8 {
			waiters.Go(func() {
				f, err := filelock.Wait(ctx, path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%s: %d waiters have the lock at once", name, n)
				}
				had.Add(1)
				inside.Add(-1)
				f.Close()
			})
		}
		holder.end()
		waiters.Wait()
		if had.Load() != 8 {
			t.Errorf("%s: %d of 8 waiters had the lock", name, had.Load())
		}
		wantHeld(t, path, false)
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	path := lockPath(t)
	start(t, "hold", path, nil)
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := filelock.Wait(ctx, path)
		waited <- err
	}()
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	wantHeld(t, path, true)
}

func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "lock")
	for name, err := range map[string]error{
		"try":  second(filelock.Try(path)),
		"wait": second(filelock.Wait(t.Context(), path)),
	} {
		var p *fs.PathError
		if !errors.As(err, &p) || p.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ *os.File, err error) error { return err }
