package terminal_test

import (
	"syscall"
	"testing"
	"time"

	"den/internal/ticks/terminal"
)

// What a wait costs when all is done already: the agent types, the command
// ends, and only then wait is called.
func BenchmarkWaitForWhatIsDone(b *testing.B) {
	a := newAgent(b)
	a.login()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		a.enter(0, "bash", "echo done")
		a.untilScreen(0, "\ndone\n$")
		b.StartTimer()
		if w := a.wait(terminal.WaitArgs{}); w.Reason != terminal.ReasonReady {
			b.Fatalf("%+v", w)
		}
		b.StopTimer()
		a.enter(0, "bash", "clear")
		a.wait(terminal.WaitArgs{})
		b.StartTimer()
	}
}

// A command from its keystrokes to the answer.
func BenchmarkTypeAndWait(b *testing.B) {
	a := newAgent(b)
	a.login()
	for b.Loop() {
		a.enter(0, "bash", "true")
		if w := a.wait(terminal.WaitArgs{}); w.Reason != terminal.ReasonReady {
			b.Fatalf("%+v", w)
		}
	}
}

// The same while 19 other terminals are open and idle.
func BenchmarkTypeAndWaitAmongTwenty(b *testing.B) {
	a := newAgent(b)
	a.login()
	for range terminal.Max - 1 {
		a.openReady("")
	}
	for b.Loop() {
		a.enter(0, "bash", "true")
		if w := a.wait(terminal.WaitArgs{}); w.Reason != terminal.ReasonReady {
			b.Fatalf("%+v", w)
		}
	}
}

// What twenty idle terminals cost this process: an operation is a second.
func BenchmarkTwentyIdle(b *testing.B) {
	a := newAgent(b)
	a.login()
	for range terminal.Max - 1 {
		a.openReady("")
	}
	a.wait(terminal.WaitArgs{Timeout: seconds(1)})
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	seconds := 0
	for b.Loop() {
		time.Sleep(time.Second)
		seconds++
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after.Nvcsw-before.Nvcsw)/float64(seconds), "switches/s")
	cpu := time.Duration(after.Utime.Nano() - before.Utime.Nano() + after.Stime.Nano() - before.Stime.Nano())
	b.ReportMetric(float64(cpu.Microseconds())/float64(seconds), "cpu-µs/s")
}

// How fast a flood of output is followed and spooled.
func BenchmarkFlood(b *testing.B) {
	a := newAgent(b)
	a.login()
	b.SetBytes(6_888_896) // of seq 1000000, in bytes
	for b.Loop() {
		a.enter(0, "bash", "seq 1000000")
		for done := false; !done; {
			w := a.wait(terminal.WaitArgs{Timeout: seconds(60)})
			done = w.Reason == terminal.ReasonReady
		}
	}
}
