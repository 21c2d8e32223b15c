package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"syscall"

	"den/internal/base/fault"
	"den/internal/process/pty"

	"golang.org/x/sys/unix"
)

// Detached is a process that is to outlive its starter: it leads a session of
// its own and inherits no descriptor by accident.
type Detached struct {
	Binary string
	Argv   []string
	Env    []string
	Dir    string
	Log    string     // the file that takes its stderr
	Extra  []*os.File // its descriptors from 3 up
	Stays  bool       // it runs on if the context ends before it has answered
}

// Single, in the environment of a Go process, has one goroutine run at a time
// from the beginning: the runtime keeps memory of its own for each.
const Single = "GOMAXPROCS=1"

// Start runs the process and exchanges one message each: bootstrap goes to its
// stdin, unless it is nil, and what it says on its stdout is decoded into
// answer, both as JSON. After an error nothing of it runs any more, unless it
// Stays; the caller discards one whose answer is a refusal, and reaps it when
// it ends.
func (d Detached) Start(ctx context.Context, bootstrap, answer any) (*os.Process, error) {
	proc, tell, said, err := d.spawn(bootstrap != nil)
	if err != nil {
		return nil, err
	}
	var telling sync.WaitGroup
	telling.Go(func() {
		if bootstrap != nil {
			_ = json.NewEncoder(tell).Encode(bootstrap) // one that ends before it has read all gives no answer
		}
		tell.Close() // Best effort, as above.
	})
	stop := context.AfterFunc(ctx, func() {
		if !d.Stays {
			proc.Kill() // Best effort: it may have ended.
		}
		said.Close() // unblocks the read below, whoever holds the other end
	})
	err = json.NewDecoder(said).Decode(answer)
	cut := !stop()
	if cut {
		err = context.Cause(ctx)
	} else if err != nil {
		err = fault.Errorf(fault.Internal, "it ended before it was ready: %s", LogTail(d.Log))
	}
	said.Close() // Best effort: all of it was read.
	switch {
	case err == nil:
	case cut && d.Stays:
		err = errors.Join(err, proc.Release())
	default:
		Discard(proc)
	}
	telling.Wait()
	if err != nil {
		return nil, err
	}
	return proc, nil
}

// Discard ends and reaps a child that is of no use.
func Discard(proc *os.Process) {
	proc.Kill()        // Best effort: it may have ended.
	_, _ = proc.Wait() // Best effort: nobody asks how it ended.
}

// spawn starts the process. It returns where its bootstrap goes and where its
// answer comes from.
func (d Detached) spawn(talk bool) (proc *os.Process, tell, said *os.File, err error) {
	stderr, err := os.OpenFile(d.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, nil, fault.Errorf(fault.Storage, "open log: %w", err)
	}
	defer stderr.Close() // the process has its own
	in, tell, err := input(talk)
	if err != nil {
		return nil, nil, nil, err
	}
	defer in.Close()
	said, out, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, tell.Close())
	}
	defer out.Close()
	if err = pty.CloseOnExec(); err == nil {
		proc, err = d.run(append([]*os.File{in, out, stderr}, d.Extra...))
	}
	if err != nil {
		return nil, nil, nil, errors.Join(fault.Errorf(fault.Internal, "run %s: %w", d.Binary, err), tell.Close(), said.Close())
	}
	return proc, tell, said, nil
}

// run starts the process outside of any session's cgroup. If the kernel
// refuses, it starts inside, and ends with the session.
func (d Detached) run(files []*os.File) (*os.Process, error) {
	attr := &os.ProcAttr{Dir: d.Dir, Env: d.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if outside := outsideSessions(); outside != nil {
		defer outside.Close()
		pty.InCgroup(attr.Sys, outside)
		if proc, err := os.StartProcess(d.Binary, d.Argv, attr); err == nil {
			return proc, nil
		}
		attr.Sys = &syscall.SysProcAttr{Setsid: true}
	}
	return os.StartProcess(d.Binary, d.Argv, attr)
}

// input is a pipe, or the null device where nothing is said.
func input(talk bool) (in, tell *os.File, err error) {
	if talk {
		return os.Pipe()
	}
	if in, err = os.Open(os.DevNull); err != nil {
		return nil, nil, err
	}
	if tell, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, tell, nil
}

// LogTail returns the end of a log file, for an error message.
func LogTail(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "its log is empty"
	}
	defer f.Close() // Best effort: it was only read.
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() == 0 {
		return "its log is empty"
	}
	tail := make([]byte, min(fi.Size(), 2000))
	n, _ := f.ReadAt(tail, fi.Size()-int64(len(tail))) // Best effort: a log that was shortened meanwhile tells less.
	return string(tail[:n])
}

// LetGo closes the started process's pipes to its starter, after it has
// replied. Descriptors 0 and 1 become the null device, because a stray write
// to stdout would otherwise go to whatever is opened there later.
func LetGo(stdout io.Closer) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		log.Printf("let go of the starter: %v", err)
		stdout.Close() // Best effort: the starter has its answer.
		return
	}
	defer null.Close()
	for fd := range 2 {
		if err := unix.Dup2(int(null.Fd()), fd); err != nil {
			log.Print(fmt.Errorf("let go of the starter: %w", err))
		}
	}
}
