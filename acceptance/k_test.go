package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// TestK speaks to den under the names k, km and agent-tty: the scripts compare
// its answers to the byte.
func TestK(t *testing.T) {
	bin := kBinaries(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "k"),
		Setup: func(env *testscript.Env) error {
			if err := setup(env); err != nil {
				return err
			}
			env.Setenv("PATH", bin+":/usr/local/bin:/usr/bin:/bin") // no shims: they need another HOME
			env.Setenv("K_SESSION", "")
			env.Setenv("DEN_SESSION", "")
			spawned := &kSpawned{}
			env.Values[kSpawnedKey{}] = spawned
			env.Defer(spawned.end)
			return nil
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":       code,
			"jset":       jset,
			"kill-host":  killHost,
			"eventually": eventually,
			"spawn":      spawn,
			"until":      until,
			"finish":     finish,
			"hear":       hear,
			"is":         is,
		},
	})
}

// kBinaries returns a directory with the real binary under its names, built as
// this test is.
func kBinaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := []string{"build", "-o", dir}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				build = append(build, "-race")
			}
		}
	}
	if out, err := exec.Command("go", append(build, "den/cmd/den")...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"k", "km", "agent-tty"} {
		if err := os.Symlink("den", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// kSpawned are the processes that a script left running, by the file that
// takes their output.
type kSpawned struct {
	running map[string]*exec.Cmd
}

// kSpawnedKey finds a script's own.
type kSpawnedKey struct{}

func (s *kSpawned) end() {
	for _, cmd := range s.running {
		cmd.Process.Kill() // Best effort: it may have ended.
		cmd.Wait()         // as above
	}
}

// spawn starts a command whose output goes into a file: spawn FILE command...
func spawn(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: spawn FILE command...")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer out.Close()
	path, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), ":")[0], args[1]))
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "DEN_HOME", "DEN_RUN_DIR", "XDG_STATE_HOME", "LC_ALL", "K_SESSION", "GORACE"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	ts.Check(cmd.Start())
	s := ts.Value(kSpawnedKey{}).(*kSpawned)
	if s.running == nil {
		s.running = map[string]*exec.Cmd{}
	}
	s.running[args[0]] = cmd
}

// until waits until a file matches: until FILE REGEXP
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	kUntil(ts, args[0]+" to match "+args[1], func() bool {
		raw, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && re.Match(raw)
	})
}

func kUntil(ts *testscript.TestScript, what string, holds func() bool) {
	for begun := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			ts.Fatalf("waited too long for %s", what)
		}
	}
}

// finish waits for a spawned command and demands its exit code: finish FILE CODE [SIGNAL]
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: finish FILE CODE [SIGNAL]")
	}
	s := ts.Value(kSpawnedKey{}).(*kSpawned)
	cmd := s.running[args[0]]
	if cmd == nil {
		ts.Fatalf("nothing writes to %s", args[0])
	}
	delete(s.running, args[0])
	if len(args) > 2 {
		ts.Check(cmd.Process.Signal(unix.SignalNum("SIG" + args[2])))
	}
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[1]); err != nil || cmd.ProcessState.ExitCode() != want {
		ts.Fatalf("%v: %v, want %s\n%s", cmd.Args, cmd.ProcessState, args[1], ts.ReadFile(args[0]))
	}
}

// hear sends messages until whoever writes to a file has heard one: hear FILE SESSION
func hear(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hear FILE SESSION")
	}
	kUntil(ts, args[0]+" to hear a message", func() bool {
		ts.Check(ts.Exec("k", "notify", args[1], "are you there"))
		fi, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && fi.Size() > 0
	})
}

// is demands the last command's output to the byte, but for the final newline.
// Backslashes are what they are: is '{"status": "done", "output": "a\nb"}'
func is(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: is TEXT")
	}
	if got := ts.ReadFile("stdout"); (got == args[0]+"\n") == neg {
		ts.Fatalf("got  %q\nwant %q", got, args[0]+"\n")
	}
}
