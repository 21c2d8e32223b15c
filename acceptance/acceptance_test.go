// Package acceptance drives the whole binary as users do: by scripts.
package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/cli"
	"den/internal/ui/dend"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	asDen := func() {
		os.Exit(cli.Main(os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"den": asDen, "agent-tty": asDen, "culture": asDen, "irc_client": asDen,
		"dend": func() {
			os.Exit(dend.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
		},
		"fake-claude": fakeClaude,
		"fake-codex":  fakeCodex,
		"mcp-client":  mcpClient,
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "linux":
				return os.PathSeparator == '/' && exists("/proc/self/stat"), nil
			case "asuser": // not root: file modes hold
				return os.Getuid() != 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":       code,
			"jset":       jset,
			"kill-host":  killHost,
			"stop-host":  stopHost,
			"alive":      alive,
			"eventually": eventually,
			"settled":    settled,
			"until":      untilPrints,
		},
	})
}

// setup gives each script a Home of its own, and leaves no process behind.
func setup(env *testscript.Env) error {
	run, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err != nil {
		return err
	}
	root := filepath.Join(env.WorkDir, "home")
	env.Setenv("DEN_HOME", root)
	env.Setenv("DEN_RUN_DIR", run)
	env.Setenv("HOME", filepath.Join(env.WorkDir, "user"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
	env.Setenv("SHELL", "/bin/bash")
	env.Setenv("PS1", "$ ")
	env.Setenv("LC_ALL", "C.UTF-8")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // or every command takes a second to exit
	t := env.T().(testing.TB)
	env.Defer(func() {
		endSessions(t, home.Home{Path: root})
		os.RemoveAll(run)
	})
	return nil
}

// dumpHost ends a host that runs with what its goroutines and threads are at.
func dumpHost(t testing.TB, d home.Dir) {
	m, err := d.Inspect()
	if err != nil || !m.Status.Active() {
		return
	}
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", m.HostPID)) // none: it has ended
	for _, task := range tasks {
		stat, _ := os.ReadFile(filepath.Join(task, "stat"))   // Best effort: the thread may have ended.
		wchan, _ := os.ReadFile(filepath.Join(task, "wchan")) // as above
		t.Logf("host of %s, a thread: %.60s, in %s", d.ID, stat, wchan)
	}
	waiting, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	gone, err := d.Gone(waiting)
	if err != nil || syscall.Kill(m.HostPID, syscall.SIGABRT) != nil {
		return
	}
	select {
	case <-gone:
	case <-waiting.Done():
	}
}

// endSessions kills what a test left and looks for what must not be there:
// surviving processes and data races in hosts.
func endSessions(t testing.TB, root home.Home) {
	dirs, err := root.All()
	if err != nil {
		t.Error(err)
	}
	for _, d := range dirs {
		if t.Failed() {
			dumpHost(t, d)
		}
		raw, _ := os.ReadFile(d.HostLog()) // none: it wrote nothing
		switch {
		case strings.Contains(string(raw), "DATA RACE"):
			t.Errorf("host of %s:\n%s", d.ID, raw)
		case t.Failed() && len(raw) > 0:
			t.Logf("host of %s:\n%s", d.ID, raw)
		}
		if m, err := d.Inspect(); err == nil && m.Status.Active() {
			ctx := context.Background() // the test's own is over when this runs
			if c, err := session.Dial(ctx, d, "test"); err == nil {
				c.Call(ctx, "kill", map[string]any{"grace_ns": time.Second}, nil) // what is left is found below
				c.Close()
			}
		}
		if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
			for _, pid := range left {
				t.Errorf("session %s left process %d: %s", d.ID, pid, pty.CommandLine(pid))
			}
			d.Sweep()
		}
	}
}

// code runs a command and demands its exit code: code 11 den wait ...
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// jset sets a variable from a field of the last command's JSON: jset SEQ seq
func jset(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jset VAR field")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for key := range strings.SplitSeq(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			ts.Check(err)
			v = at[i]
		default:
			ts.Fatalf("no field %s", args[1])
		}
	}
	if f, ok := v.(float64); ok {
		ts.Setenv(args[0], strconv.FormatInt(int64(f), 10))
		return
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// killHost kills a session's host without a word.
func killHost(ts *testscript.TestScript, neg bool, args []string) {
	d, err := home.Home{Path: ts.Getenv("DEN_HOME")}.Find(args[0])
	ts.Check(err)
	m, err := d.Load()
	ts.Check(err)
	gone, err := d.Gone(context.Background())
	ts.Check(err)
	ts.Check(syscall.Kill(m.HostPID, syscall.SIGKILL))
	<-gone
}

// stopHost stops a session's host, as SIGSTOP does.
func stopHost(ts *testscript.TestScript, neg bool, args []string) {
	d, err := home.Home{Path: ts.Getenv("DEN_HOME")}.Find(args[0])
	ts.Check(err)
	m, err := d.Load()
	ts.Check(err)
	ts.Check(syscall.Kill(m.HostPID, syscall.SIGSTOP))
}

// alive demands that a process lives, or with ! that it does not.
func alive(ts *testscript.TestScript, neg bool, args []string) {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	lives := exists(fmt.Sprintf("/proc/%d/fd", pid)) && syscall.Kill(pid, 0) == nil
	if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(raw), ") ")
		lives = lives && !strings.HasPrefix(state, "Z")
	}
	if lives == neg {
		ts.Fatalf("process %d: alive is %v", pid, lives)
	}
}

// eventually waits for a file to appear.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if fi, err := os.Stat(ts.MkAbs(args[0])); err == nil && fi.Size() > 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not appear", args[0])
		}
		time.Sleep(time.Millisecond)
	}
}

// settled waits until the last cell of a session is over.
func settled(ts *testscript.TestScript, neg bool, args []string) {
	d, err := home.Home{Path: ts.Getenv("DEN_HOME")}.Find(args[0])
	ts.Check(err)
	for begun := time.Now(); time.Since(begun) < 2*time.Minute; time.Sleep(time.Millisecond) {
		if rec, err := (cell.Store{Dir: d.Cells()}).Load(""); err == nil && rec.Final() {
			return
		}
	}
	ts.Fatalf("the cell of %s does not end", args[0])
}

// untilPrints runs a command again and again until it prints what is wanted:
// until 'running' den ps
func untilPrints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEX command...")
	}
	want := regexp.MustCompile("(?m)" + args[0])
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...) // what counts is what it prints
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%q never matched", args[0])
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
