package tree_test

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/process/tree"

	"golang.org/x/sys/unix"
)

// roleKey makes this test binary play another part: reaping takes every child
// of a process, so a tree is held by a process of its own.
const roleKey = "SUPERVISE_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleKey)
	os.Unsetenv(roleKey) // Best effort: what is started below is no part of the play.
	switch role {
	case "":
		os.Exit(m.Run())
	case "holder":
		hold()
	case "headless":
		loseFirstThread()
	case "detached":
		answer()
	case "host":
		beHost()
	case "masked":
		maskAsHost()
	}
}

// order is what a test asks of a holder.
type order struct {
	Grace time.Duration
	Twice bool // and again at once, without grace
}

// report is what the holder says afterwards.
type report struct {
	Killed int
	Error  string
	Left   []int
	Exit   tree.Exit
}

// hold runs "sh -c SCRIPT" and ends its tree as ordered on stdin.
func hold() {
	if err := tree.BecomeSubreaper(); err != nil {
		log.Fatal(err)
	}
	argv := append([]string{"sh", "-c"}, os.Args[1:]...)
	pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	held := tree.Adopt(pid, tree.Cgroup{})
	go held.Reap(nil)
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil && !errors.Is(err, io.EOF) {
		log.Fatal(err)
	}
	hurrying := make(chan struct{})
	go func() {
		defer close(hurrying)
		if o.Twice {
			held.End(0) // the first call reports what came of both
		}
	}()
	killed, err := held.End(o.Grace, tree.HangUp, tree.Terminate)
	<-hurrying
	r := report{Killed: killed, Left: held.Processes()}
	if err != nil {
		r.Error = err.Error()
	}
	<-held.Ended()
	r.Exit = held.Exit()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

func init() { runtime.LockOSThread() } // main runs on the first thread, for loseFirstThread

// loseFirstThread makes this process one whose first thread has ended while
// others live: the kernel shows it as a zombie.
func loseFirstThread() {
	os.Stdout.WriteString("up\n") // Best effort: who waits for it fails.
	go func() { select {} }()
	syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// answer is a detached process that repeats its bootstrap, or fails.
func answer() {
	var said string
	if err := json.NewDecoder(os.Stdin).Decode(&said); err != nil {
		log.Fatal(err)
	}
	switch said {
	case "fail":
		log.Fatal("no luck")
	case "hang":
		select {}
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		log.Fatal(err)
	}
	tree.LetGo(os.Stdout)
	select {}
}

// holdLock takes the lock that the fourth argument names, if there is one. It is
// held until this process and all that inherit it have ended.
func holdLock() *os.File {
	if len(os.Args) < 5 {
		return nil
	}
	lock, err := filelock.Try(os.Args[4])
	if err != nil {
		log.Fatal(err)
	}
	return lock
}

// beHost is a host with a process below it.
func beHost() {
	lock := holdLock()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	os.Stdout.WriteString("up\n") // Best effort: who waits for it fails.
	cmd.Wait()                    // Best effort: the test kills it.
	runtime.KeepAlive(lock)
}

// maskAsHost is a shell that has all of a host but its program.
func maskAsHost() {
	if _, err := unix.FcntlInt(holdLock().Fd(), unix.F_SETFD, 0); err != nil {
		log.Fatal(err)
	}
	log.Fatal(syscall.Exec("/bin/sh", append([]string{"sh", "-c", "echo up; sleep 1000; :"}, os.Args[1:]...), os.Environ()))
}
