package acceptance

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"
)

// The first Ctrl-C ends every verb that waits, whatever it waits for, with
// status 130.
func TestFirstInterruptEndsAVerb(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		need.Feature(t, "telling that a process waits needs /proc")
	}
	w := newWorld(t)
	w.do("new", "idle", "bash", "--norc")
	w.do("new", "busy", "bash", "--norc")
	w.do("new", "asks", "bash", "--norc")
	w.try("run", "asks", "read -p 'name? ' x; sleep 1000") // 13: it asks
	w.do("new", "stubborn", "sh", "-c", `trap "" HUP TERM; echo up; while :; do sleep 1; done`)
	w.do("wait", "stubborn", "--text", "up")
	w.do("new", "frozen", "bash", "--norc")
	defer w.freeze("frozen")()
	workspace := w.agentThatNeverListens()
	for _, args := range [][]string{
		{"run", "busy", "sleep 1000", "-t", "0"},
		{"answer", "asks", "me", "-t", "0"},
		{"wait", "idle", "--text", "never", "-t", "0"},
		{"events", "idle"},
		{"events", "idle", "-1"},
		{"watch", "idle"},
		{"batch", "idle", `[{"wait":{"text":"never","timeout":"0"}}]`},
		{"kill", "stubborn", "--grace", "1000s"},
		// with nobody who writes to stdin
		{"paste", "idle"},
		{"run", "idle", "-"},
		{"fire", "idle", "-"},
		{"batch", "idle", "-"},
		{"agent", "--file", workspace, "nudge", "deaf", "-"},
		// with a host that does not answer
		{"run", "frozen", "true", "-t", "0"},
		{"wait", "frozen", "--text", "never", "-t", "0"},
		{"kill", "frozen", "--grace", "1000s"},
		// with a keeper that has nothing to tell yet
		{"agent", "--file", workspace, "logs", "-f"},
		{"agent", "--file", workspace, "nudge", "deaf", "hello", "-t", "1h"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			cmd, out := w.begin(t, args...)
			untilAsleep(t, cmd.Process.Pid)
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if status := finished(t, cmd, out); status != 130 {
				t.Errorf("exit %d, want 130\n%s", status, out)
			}
		})
	}
}

// begin starts den with a stdin that stays open.
func (w *world) begin(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(w.den, args...)
	cmd.Env = w.env
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() }) // Best effort: it is closed with the process.
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// finished waits for the end of a process and returns its status. One that
// does not end is killed.
func finished(t *testing.T, cmd *exec.Cmd, out io.Writer) int {
	t.Helper()
	late := time.AfterFunc(2*time.Minute, func() {
		fmt.Fprintln(out, "it did not end, and was killed")
		cmd.Process.Kill() // Best effort: it may have ended.
	})
	defer late.Stop()
	cmd.Wait() // the status says it
	return cmd.ProcessState.ExitCode()
}

// untilAsleep waits until all threads of a process sleep and it has used no
// time between two looks: it waits for something.
func untilAsleep(t *testing.T, pid int) {
	t.Helper()
	last, calm := "", 0
	for begun := time.Now(); calm < 5; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("process %d never waits", pid)
		}
		now, asleep := threads(pid)
		if asleep && now == last {
			calm++
		} else {
			calm = 0
		}
		last = now
	}
}

// threads returns the time that each thread of a process has used, and whether
// all of them sleep.
func threads(pid int) (used string, asleep bool) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return "", false
	}
	asleep = true
	for _, file := range files {
		raw, err := os.ReadFile(file)
		_, after, ok := strings.Cut(string(raw), ") ")
		fields := strings.Fields(after)
		if err != nil || !ok || len(fields) < 13 {
			return "", false // it has just ended
		}
		asleep = asleep && fields[0] == "S"
		used += fields[11] + " " + fields[12] + "\n"
	}
	return used, asleep
}

// freeze stops a session's host, and returns what lets it go on.
func (w *world) freeze(name string) (thaw func()) {
	w.t.Helper()
	d, err := w.home.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	m, err := d.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Kill(m.HostPID, syscall.SIGSTOP); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := syscall.Kill(m.HostPID, syscall.SIGCONT); err != nil {
			w.t.Error(err)
		}
	}
}

// agentThatNeverListens brings up a workspace whose agent reads no input, and
// returns its file.
func (w *world) agentThatNeverListens() string {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(filepath.Dir(w.den), "dend")); err != nil {
		w.t.Fatal(err)
	}
	file := filepath.Join(w.t.TempDir(), "den.toml")
	config := "[[agents]]\nname = \"deaf\"\nstart_command = [\"sh\", \"-c\", \"while :; do sleep 1; done\"]\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.do("up", "-f", file, "--wait")
	w.t.Cleanup(func() { w.do("down", "-f", file) })
	return file
}
