package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/provider/subprocess/shim"
	"den/internal/pty"
)

// launch starts the shim detached and waits for its word. After an error
// nothing of it runs any more.
func (p *Provider) launch(ctx context.Context, boot shim.Bootstrap, lock *os.File) (err error) {
	pid, tell, answer, err := p.spawn(boot, lock)
	if err != nil {
		return fmt.Errorf("start session '%s': %w", boot.Name, err)
	}
	var telling sync.WaitGroup
	defer func() {
		answer.Close() // Best effort: all of it was read.
		telling.Wait()
	}()
	telling.Go(func() {
		// A shim that dies before it has read all ends the pipe, and says why
		// by its silence.
		_ = json.NewEncoder(tell).Encode(boot)
		tell.Close() // Best effort, as above.
	})
	stop := context.AfterFunc(ctx, func() {
		syscall.Kill(pid, syscall.SIGKILL) // it is our child and not reaped: the number is its own
	})
	var ready shim.Ready
	err = json.NewDecoder(answer).Decode(&ready)
	if !stop() {
		err = fmt.Errorf("start session '%s': %w", boot.Name, context.Cause(ctx))
	} else if err != nil {
		err = fault.Errorf(fault.Internal, "start session '%s': its shim ended before it was ready: %s", boot.Name, lastWords(shim.Dir(boot.Dir)))
	} else if ready.Error != nil {
		err = ready.Error.Err()
	}
	if err == nil {
		started.Add(pid)
		return nil
	}
	syscall.Kill(pid, syscall.SIGKILL) // Best effort: it is about to end, or has ended.
	reap(pid)
	// Not the caller's context, which may be over: what has begun must go.
	return errors.Join(err, sweep(context.WithoutCancel(ctx), boot.ID), removeSocket(boot.Socket))
}

// spawn starts the process. It returns where its bootstrap goes and where its
// answer comes from.
func (p *Provider) spawn(boot shim.Bootstrap, lock *os.File) (pid int, tell, answer *os.File, err error) {
	stderr, err := os.OpenFile(shim.Dir(boot.Dir).ShimLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, nil, fault.Errorf(fault.Storage, "open the shim's log: %w", err)
	}
	defer stderr.Close() // the shim has its own
	bootR, bootW, err := os.Pipe()
	if err != nil {
		return 0, nil, nil, err
	}
	defer bootR.Close()
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return 0, nil, nil, errors.Join(err, bootW.Close())
	}
	defer readyW.Close()
	// Nothing that this process inherited by accident goes on to the shim.
	if err := pty.CloseOnExec(); err != nil {
		return 0, nil, nil, errors.Join(err, bootW.Close(), readyR.Close())
	}
	proc, err := os.StartProcess(p.binary, []string{"den", "shim", boot.Name, boot.ID}, &os.ProcAttr{
		Dir: "/",
		// The mark keeps hosts and shims from taking this one for a part of
		// the session in which it was started, and finds it by its ID.
		Env:   []string{home.HostMark + "=" + boot.ID, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		Files: []*os.File{bootR, readyW, stderr, lock}, // lock is shim.LockFD
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, nil, errors.Join(fault.Errorf(fault.Internal, "run %s: %w", p.binary, err), bootW.Close(), readyR.Close())
	}
	pid = proc.Pid
	return pid, bootW, readyR, proc.Release()
}

// lastWords is the end of a shim's log, for an error message.
func lastWords(dir shim.Dir) string {
	raw, err := os.ReadFile(dir.ShimLog())
	if err != nil || len(raw) == 0 {
		return "it left no word"
	}
	return string(raw[max(0, len(raw)-2000):])
}
