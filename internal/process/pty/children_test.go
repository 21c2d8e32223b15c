//go:build linux

package pty_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"den/internal/process/pty"
)

// A process of the group that works on its own keeps a program from being ready,
// whichever thread started it, and whoever adopted it.
func TestProbeChildrenOfEachKind(t *testing.T) {
	const begin = `
import os, subprocess, sys, threading
def sleeper(): subprocess.Popen(["sleep", "1000"])
def orphan():
    if os.fork() == 0:
        sleeper()
        os._exit(0)
    os.wait()
def thread(work, stay):
    done = threading.Event()
    def run():
        work()
        done.set()
        if stay: threading.Event().wait()
    t = threading.Thread(target=run, daemon=True)
    t.start()
    done.wait()
    if not stay: t.join()
`
	for name, code := range map[string]string{
		"a child of the first thread":               `sleeper()`,
		"a child of another thread":                 `thread(sleeper, True)`,
		"a child of a thread that has ended":        `thread(sleeper, False)`,
		"a child of the first thread beside others": `thread(lambda: None, True); sleeper()`,
		"an orphan":                                     `orphan()`,
		"an orphan of another thread's child":           `thread(orphan, True)`,
		"an orphan of the child of a thread that ended": `thread(orphan, False)`,
		"a grandchild, of another thread of the child":  `subprocess.Popen([sys.executable, "-c", sys.argv[1] + "thread(sleeper, True)\nprint('go')\nthreading.Event().wait()"])`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := start(t, "python3", "-u", "-c", begin+code+"\nprint('go')\nsys.stdin.readline()\n", begin)
			x.untilOutput("go")
			x.checkSleeper()
		})
	}
}

// The same for a program that another thread of the host started.
func TestProbeProgramOfAnotherThread(t *testing.T) {
	for name, code := range map[string]string{"a child": "sleep 1000 & echo go; read x", "an orphan": "(sleep 1000 &); echo go; read x"} {
		t.Run(name, func(t *testing.T) {
			var x *term
			offFirstThread(func() { x = start(t, "sh", "-c", code) })
			x.untilOutput("go")
			x.checkSleeper()
		})
	}
}

// offFirstThread calls f on a thread that is not the process' first.
func offFirstThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // on another, as this one is taken
		defer close(done)
		f()
	}()
	<-done
}

// checkSleeper finds the program kept from being ready by a sleep alone.
func (x *term) checkSleeper() {
	x.t.Helper()
	r := x.untilState(pty.Unknown)
	if !strings.Contains(r.Why, "sleep (pid ") {
		x.t.Errorf("why: %s", r.Why)
	}
	_, programs, err := x.p.Foreground()
	if err != nil {
		x.t.Fatal(err)
	}
	i := slices.IndexFunc(programs, func(p pty.Program) bool { return p.Name == "sleep" })
	if i < 0 {
		x.t.Fatalf("in the foreground: %+v", programs)
	}
	if err := syscall.Kill(programs[i].PID, syscall.SIGKILL); err != nil {
		x.t.Fatal(err)
	}
	x.untilState(pty.Ready)
}
