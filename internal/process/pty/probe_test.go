//go:build linux

package pty_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"den/internal/process/pty"
	"den/internal/testkit/need"
)

// Programs that wait for their user, and what they say while they do not.
func TestProbePrograms(t *testing.T) {
	file := script(t, "long.txt", strings.Repeat("a line of text\n", 500))
	tests := []struct {
		name  string
		argv  []string
		ready string // output that comes before the first rest
		work  string // typed then; it keeps the program busy, or "" for none
		stop  string // typed to end the work
	}{
		{"bash", []string{"bash", "--norc"}, `PROMPT> `, "sleep 100\r", "\x03"},
		{"bash pipeline", []string{"bash", "--norc"}, `PROMPT> `, "sleep 100 | cat\r", "\x03"},
		{"bash cat pipeline", []string{"bash", "--norc"}, `PROMPT> `, "sleep 100 | cat | cat\r", "\x03"},
		{"bash builtin loop", []string{"bash", "--norc"}, `PROMPT> `, "while :; do :; done\r", "\x03"},
		{"dash", []string{"dash", "-i"}, `PROMPT> `, "sleep 100\r", "\x03"},
		{"zsh", []string{"zsh", "-f"}, `PROMPT> `, "sleep 100\r", "\x03"},
		{"python3", []string{"python3", "-i"}, `>>> `, "while True: pass\r\r", "\x03"},
		{"python3 -q", []string{"python3", "-q"}, `>>> `, "import time; time.sleep(100)\r", "\x03"},
		{"python3 without readline", []string{"python3", "-I", "-q"}, `>>> `, "while True: pass\r\r", "\x03"},
		{"cat", []string{"cat"}, ``, "", ""},
		{"less", []string{"less", file}, `a line`, "", ""},
		{"vim", []string{"vim", "-u", "NONE", "-i", "NONE", "-n", file}, `a line`, ":sleep 100\r", "\x03"},
		{"nano", []string{"nano", file}, `a line`, "", ""},
		{"bc", []string{"bc", "-q"}, ``, "while (1) { x = 1 }\r", "\x03"},
		{"dc", []string{"dc"}, ``, "", ""},
		{"sqlite3", []string{"sqlite3"}, `sqlite> `, "with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c;\r", "\x03"},
		{"gdb", []string{"gdb", "-q", "-nx"}, `\(gdb\) `, "shell sleep 100\r", "\x03"},
		{"lua", []string{"lua"}, `> `, "while true do end\r", "\x03"},
		{"redis-cli", []string{"redis-cli", "-p", "1"}, `not connected> `, "", ""},
		{"perl debugger", []string{"perl", "-de", "0"}, `DB<1>`, "sleep 100\r", "\x03"},
		{"go program", []string{os.Args[0], "-test.run=^TestHelperReadsLines$"}, `go`, "", ""},
		{"top", []string{"top", "-d", "50"}, `PID`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := start(t, tt.argv...)
			x.untilOutput(tt.ready)
			r := x.untilState(pty.Ready)
			t.Logf("at rest: %s; command %q; timeout %v; echo %v canonical %v", r.Why, r.Command, r.Timeout, r.Echo, r.Canonical)
			if tt.work == "" {
				return
			}
			x.write(tt.work)
			x.neverReady("a while of work", after(300*time.Millisecond))
			r = x.untilState(pty.Busy)
			t.Logf("at work: %s", r.Why)
			// A program that has only just started may miss its signal.
			again := after(0)
			x.until("rest", func() bool {
				if again() {
					x.write(tt.stop)
					again = after(3 * time.Second)
				}
				return x.p.Probe().State == pty.Ready
			})
			x.untilState(pty.Ready)
		})
	}
}

// fzf looks around ten times a second, so it is never claimed to rest.
func TestProbeFzf(t *testing.T) {
	t.Parallel()
	need.Program(t, "fzf")
	x := start(t, "sh", "-c", "seq 1000 | fzf")
	x.untilOutput(`1000/1000`)
	var r pty.Readiness
	x.until("a wait for the terminal and timers", func() bool { r = x.p.Probe(); return r.OnlyTimers })
	t.Log(r.Why)
	x.neverReady("a while", after(200*time.Millisecond))
}

// irb looks away from its terminal ten times a second and draws nothing
// meanwhile: not claimed, but told apart from a spinner by its silence.
func TestProbeIrb(t *testing.T) {
	t.Parallel()
	x := start(t, "irb", "-f")
	x.untilOutput(`irb`)
	var r pty.Readiness
	rest := func() bool { r = x.p.Probe(); return r.OnlyTimers && r.Quiet > 0 }
	x.until("rest", rest)
	t.Log(r.Why, r.Quiet)
	x.write("sleep 1; 'do' + 'ne'\r")
	x.until("work", func() bool { return x.p.Probe().State == pty.Busy })
	x.neverReady("the answer", func() bool { return strings.Contains(x.output(), "done") })
	x.until("rest", rest)
}

// TestHelperReadsLines is a program, not a test, when it runs on a terminal
// of another test: a line reader in Go, with its runtime's threads.
func TestHelperReadsLines(t *testing.T) {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil || os.Getenv("PS1") != "PROMPT> " {
		need.Apart(t, "a part of TestProbePrograms")
	}
	fmt.Println("go")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println("line", lines.Text())
	}
}

// Node idles in an event loop; with a timer it cannot be told from one that
// sleeps for its user, and then the answer is not ready.
func TestProbeNode(t *testing.T) {
	t.Parallel()
	x := start(t, "node")
	x.untilOutput(`> `)
	var r pty.Readiness
	x.until("rest", func() bool {
		r = x.p.Probe()
		return r.State == pty.Ready || r.OnlyTimers
	})
	t.Logf("at rest: %s (%s)", r.State, r.Why)
	x.write("await new Promise(r => setTimeout(r, 1500)); 'do' + 'ne'\r")
	x.neverReady("end of await", func() bool { return strings.Contains(x.output(), "done") })
	x.write("while (true) {}\r")
	x.neverReady("a while of work", after(300*time.Millisecond))
	x.untilState(pty.Busy)
	x.write("\x03")
	x.until("rest", func() bool { r = x.p.Probe(); return r.State == pty.Ready || r.OnlyTimers })
}

func TestProbeReadBuiltin(t *testing.T) {
	t.Parallel()
	x := start(t, "sh", "-c", "printf 'name? '; read x; echo got $x; sleep 100")
	x.untilOutput(`name\? `)
	r := x.untilState(pty.Ready)
	if !r.Echo || !r.Canonical {
		t.Errorf("echo %v, canonical %v; want both", r.Echo, r.Canonical)
	}
	x.write("half a li") // Not a line yet: the program still waits for it.
	x.untilState(pty.Ready)
	x.write("ne\r")
	x.untilOutput(`got half a line`)
	x.neverReady("a while", after(100*time.Millisecond))
}

func TestProbePassword(t *testing.T) {
	t.Parallel()
	x := start(t, "sh", "-c", "stty -echo; printf 'Password: '; read x; stty echo; sleep 100")
	x.untilOutput(`Password: `)
	r := x.untilState(pty.Ready)
	if r.Echo || !r.Canonical {
		t.Errorf("echo %v, canonical %v; want no echo in canonical mode", r.Echo, r.Canonical)
	}
	x.write("secret\r")
	x.neverReady("a while", after(100*time.Millisecond))
}

// What was typed ahead of a busy program makes nobody ready.
func TestProbeTypeAhead(t *testing.T) {
	t.Parallel()
	x := start(t, "sh", "-c", "printf go; sleep 0.5; read x; echo got $x; read y")
	x.untilOutput(`go`)
	x.write("early\r")
	x.neverReady("got early", func() bool { return strings.Contains(x.output(), "got early") })
	x.untilState(pty.Ready)
}

func TestInputQueued(t *testing.T) {
	t.Parallel()
	x := start(t, "sleep", "1000")
	x.write("early\rnot yet a line")
	x.until("queued input", func() bool { n, err := x.p.InputQueued(); return err == nil && n == len("early\n") })
}

// Between a write and the program's answer there is no moment of readiness,
// whoever gives the answer: one probe is enough to tell.
func TestProbeNeverBetweenInputAndAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		argv       []string
	}{
		{"builtin", "echo an''swer\r", []string{"bash", "--norc"}},
		{"program", "/bin/echo an''swer\r", []string{"bash", "--norc"}},
		{"pipeline", "/bin/echo an''swer | cat | cat\r", []string{"bash", "--norc"}},
		{"subshell", "(true; (true; echo an''swer))\r", []string{"bash", "--norc"}},
		{"substitution", "x=$(true; echo an''swer); echo $x\r", []string{"bash", "--norc"}},
		{"shell without job control", "true; (echo an''swer | cat)\r", []string{"dash", "+m", "-i"}},
		{"python", "print('ans' + 'wer')\r", []string{"python3", "-q"}},
		{"python's child", "import os; s = os.system('echo an''swer')\r", []string{"python3", "-q"}},
		{"python's thread", "import threading; x = threading.Thread(target=lambda: print('ans' + 'wer')); x.start(); x.join()\r", []string{"python3", "-q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			x := start(t, tt.argv...)
			x.untilOutput(`> `)
			ran, last := 0, ""
			for range 15 {
				x.untilState(pty.Ready)
				before := len(x.output())
				x.write(tt.line)
				r := x.p.Probe()
				for ; r.State != pty.Ready; r = x.p.Probe() {
				}
				if got := x.rest(before); strings.Count(got, "answer\r\n") != 1 {
					t.Fatalf("ready before the answer: %s; output %q", r.Why, got)
				}
				// Had the answer been given after the probe, somebody would have run since.
				if now := x.p.Probe(); now.Fingerprint != r.Fingerprint {
					ran++
					last = fmt.Sprintf("%+v, then %+v", r, now)
				}
			}
			// The kernel moves input by a thread of its own, which wakes the
			// program after that has read all of it, if it was kept from the CPU
			// in between: the program runs for nothing. That is rare.
			if ran > 3 {
				t.Errorf("%d times of 15 somebody ran after the program was ready, so perhaps before the answer; the last: %s", ran, last)
			}
		})
	}
}

// A rest leaves its fingerprint alone; anything that runs changes it.
func TestProbeFingerprint(t *testing.T) {
	t.Parallel()
	x := start(t, "bash", "--norc")
	a := x.untilState(pty.Ready)
	b := x.untilState(pty.Ready)
	if a.Fingerprint != b.Fingerprint || a.Fingerprint == (pty.Fingerprint{}) {
		t.Errorf("at rest: %+v, then %+v", a.Fingerprint, b.Fingerprint)
	}
	x.write("\x01") // The cursor is at the start of the line already: no output.
	x.until("a change", func() bool { r := x.p.Probe(); return r.State == pty.Ready && r.Fingerprint != a.Fingerprint })
}

// rest is the output from an offset on, once the reader has nothing left to take.
func (x *term) rest(from int) string {
	x.t.Helper()
	var last string
	end := time.Now().Add(time.Second)
	for time.Now().Before(end) {
		last = x.output()[from:]
		if strings.Contains(last, "answer\r\n") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return last
}

// A stopped and continued program waits on in a restarted call.
func TestProbeAfterStopAndContinue(t *testing.T) {
	for _, argv := range [][]string{{"gdb", "-q", "-nx"}, {"cat"}} {
		t.Run(argv[0], func(t *testing.T) {
			t.Parallel()
			x := start(t, argv...)
			x.untilState(pty.Ready)
			syscall.Kill(x.pid, syscall.SIGSTOP)
			x.until("stop", func() bool { return x.p.Probe().State != pty.Ready })
			syscall.Kill(x.pid, syscall.SIGCONT)
			r := x.untilState(pty.Ready)
			t.Log(r.Why)
		})
	}
}

func TestProbeHungUp(t *testing.T) {
	t.Parallel()
	x := start(t, "true")
	x.wait()
	<-x.done
	for range 3 {
		if r := x.p.Probe(); r.State != pty.Unknown || !r.Gone {
			t.Errorf("state of a dead terminal: %+v", r)
		}
	}
	x.p.Close()
	if r := x.p.Probe(); r.State != pty.Unknown || r.Why == "" || !r.Gone {
		t.Errorf("state of a closed terminal: %+v", r)
	}
}
