package subprocess_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/testkit/providertest"
)

func TestRoundTrip(t *testing.T) {
	b := newBench(t)
	b.shell("w", `echo ready; while read -r line; do echo "got <$line>"; done; exit 3`)
	b.shows("w", "ready")
	b.ok(b.Nudge(t.Context(), "w", "hello; -x"))
	b.shows("w", "ready\ngot <hello; -x>")
	if got := b.peek("w", 1); got != "got <hello; -x>" {
		t.Errorf("one line = %q", got)
	}
	b.ok(b.Stop(t.Context(), "w"))
	if b.running("w") {
		t.Error("runs after Stop")
	}
	if got := b.peek("w", 0); got != "ready\ngot <hello; -x>" {
		t.Errorf("text after the end = %q", got)
	}
}

func TestNudgeIsExact(t *testing.T) {
	b := newBench(t)
	// Not read before all of it is sent: it must wait, whole.
	b.shell("w", `while [ ! -e go ]; do sleep 0.01; done; head -c 131074 > got; echo done`)
	first := strings.Repeat("0123456789abcdef", 4096)                 // 64 KiB
	second := "-\x01\xff\n;" + strings.Repeat("\xe4ö", 30000)[:65531] // no UTF-8, 64 KiB
	b.ok(b.Nudge(t.Context(), "w", first))
	b.ok(b.Nudge(t.Context(), "w", second))
	b.ok(os.WriteFile(b.path("go"), nil, 0o600))
	b.shows("w", "done")
	got, err := os.ReadFile(b.path("got"))
	b.ok(err)
	if want := first + "\n" + second + "\n"; string(got) != want {
		t.Errorf("%d bytes came, %d were sent, or they differ", len(got), len(want))
	}
}

func TestNudgeOfOneWhoDoesNotRead(t *testing.T) {
	b := newBench(t)
	b.start("w", "sleep", "1000")
	text := strings.Repeat("x", 100_000)
	sent := 0
	for ; sent < 100; sent++ {
		err := b.Nudge(t.Context(), "w", text)
		if err == nil {
			continue
		}
		if fault.KindOf(err) != fault.Busy || fault.HintOf(err) == "" {
			t.Fatalf("Nudge = %v (%s)", err, fault.KindOf(err))
		}
		break
	}
	if sent < 10 || sent > 12 {
		t.Errorf("%d texts of 100 kB were taken", sent)
	}
	if err := b.Nudge(t.Context(), "w", strings.Repeat("x", 2<<20)); fault.KindOf(err) != fault.Usage {
		t.Errorf("a text of 2 MiB: %v", err)
	}
	b.ok(b.Stop(t.Context(), "w")) // what waits does not keep it
}

// A shim that is killed before its answer is here may have passed the text on.
// That its session is not running says nothing about that.
func TestUnansweredNudge(t *testing.T) {
	b := newBench(t)
	b.start("w", "cat")
	pid := b.shimPID("w")
	providertest.LoseAnswer(t, b.record("w").Socket, func() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	err := b.Nudge(t.Context(), "w", "once")
	if fault.KindOf(err) != fault.NotRunning || !errors.Is(err, provider.ErrUnanswered) {
		t.Errorf("Nudge = %v (kind %q), want not_running that wraps ErrUnanswered", err, fault.KindOf(err))
	}
}

func TestNudgeOfClosedInput(t *testing.T) {
	b := newBench(t)
	b.shell("w", "exec <&-; echo closed; exec sleep 1000")
	b.shows("w", "closed")
	if err := b.Nudge(t.Context(), "w", "x"); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("Nudge = %v (%s)", err, fault.KindOf(err))
	}
	if !b.running("w") {
		t.Error("it does not run")
	}
}

func TestKeepsTheEndOfMuchOutput(t *testing.T) {
	b := newBench(t)
	b.shell("w", "seq 1 3000000; exec sleep 1000") // 22.9 MB
	b.eventually("the last line", func() bool { return b.peek("w", 1) == "3000000" })
	all := strings.Split(b.peek("w", 0), "\n")
	if len(all) < 100_000 || len(strings.Join(all, "\n")) > 1<<20 {
		t.Errorf("%d lines are kept", len(all))
	}
	for i, line := range all {
		if len(line) != 7 {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

func TestProgramHasItsCallersUmask(t *testing.T) {
	b := newBench(t)
	defer syscall.Umask(syscall.Umask(0o027)) // no test of this package runs beside
	b.shell("w", "umask; exec sleep 1000")
	b.shows("w", "0027")
}

func TestEnvironmentIsSmall(t *testing.T) {
	b := newBench(t)
	t.Setenv("NOT_FOR_SESSIONS", "1")
	c := b.config("env")
	c.Env = map[string]string{"MINE": "a b\nc", "HOME": "/elsewhere"}
	b.ok(b.Start(t.Context(), "w", c))
	b.ends("w")
	got := "\n" + b.peek("w", 0) + "\n"
	if strings.Contains(got, "NOT_FOR_SESSIONS") || strings.Contains(got, "\nDEN_HOST=") {
		t.Errorf("environment has too much: %s", got)
	}
	for _, want := range []string{"\nMINE=a b\nc\n", "\nHOME=/elsewhere\n", "\nPATH=" + os.Getenv("PATH") + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("environment lacks %q: %s", want, got)
		}
	}
}

func TestNoTerminal(t *testing.T) {
	b := newBench(t)
	b.shell("w", "test -t 0 || test -t 1 || test -t 2 || echo none; ls /proc/self/fd | wc -l; (: < /dev/tty) 2>/dev/null || echo no tty")
	b.ends("w")
	if got := b.peek("w", 0); got != "none\n4\nno tty" { // 0, 1, 2 and the directory that ls reads
		t.Errorf("the command says %q", got)
	}
	err := b.SendKeys(t.Context(), "w", "Enter")
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(fault.HintOf(err), "native") {
		t.Errorf("SendKeys = %v, hint %q", err, fault.HintOf(err))
	}
}
