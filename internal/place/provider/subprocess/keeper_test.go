package subprocess_test

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"den/internal/process/pty"
)

// keeper returns the command line of another process that starts a session.
func (b *bench) keeper(name string, argv ...string) []string {
	b.Helper()
	self, err := os.Executable()
	b.ok(err)
	return append([]string{self, "start-and-exit", b.options.Dir, name}, argv...)
}

func TestSessionsOutliveTheirKeeper(t *testing.T) {
	b := newBench(t)
	line := b.keeper("w", "sh", "-c", `while read -r x; do echo "<$x>"; done`)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // all that is left of its group: nothing
	b.ok(b.Nudge(t.Context(), "w", "hello"))
	b.shows("w", "<hello>")
	b.ok(b.Stop(t.Context(), "w"))
}

// A session that was started from inside another is nobody's child: it stays
// when the outer one is stopped.
func TestInnerSessionsAreTheirOwn(t *testing.T) {
	b := newBench(t)
	b.start("outer", append([]string{"sh", "-c", `"$@" && echo started; exec sleep 1000`, "sh"}, b.keeper("inner", "sleep", "1000")...)...)
	b.shows("outer", "started")
	inner := b.record("inner")
	b.ok(b.Stop(t.Context(), "outer"))
	if !b.running("inner") || pty.CommandLine(inner.PID) != "sleep 1000" {
		t.Error("the inner session ended with the outer one")
	}
}

// A keeper in the background of a shell ignores interrupts. Commands do not.
func TestInterruptUnderAKeeperThatIgnoresIt(t *testing.T) {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
	defer signal.Reset(syscall.SIGINT, syscall.SIGHUP)
	b := newBench(t)
	b.start("w", "sleep", "1000")
	b.ok(b.Interrupt(t.Context(), "w"))
	b.ends("w")
}
