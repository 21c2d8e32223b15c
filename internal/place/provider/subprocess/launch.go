package subprocess

import (
	"context"
	"errors"
	"fmt"
	"os"

	"den/internal/place/provider/subprocess/shim"
	"den/internal/process/supervise"
	"den/internal/session/home"
)

// launch starts the shim detached and waits for its answer. After an error
// nothing of it runs any more.
func (p *Provider) launch(ctx context.Context, boot shim.Bootstrap, lock *os.File) error {
	var ready shim.Ready
	proc, err := supervise.Detached{
		Binary: p.binary, Argv: []string{"den", "shim", boot.Name, boot.Mark}, Dir: "/", Log: shim.Dir(boot.Dir).ShimLog(),
		// The mark keeps the session in which a shim was started from taking
		// it for one of its own processes, and finds it.
		Env:   []string{home.HostMark + "=" + boot.Mark, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")},
		Extra: []*os.File{lock}, // shim.LockFD
	}.Start(ctx, boot, &ready)
	if err != nil {
		err = fmt.Errorf("start session '%s': %w", boot.Name, err)
	} else if ready.Error != nil {
		supervise.Discard(proc)
		err = ready.Error.Err()
	}
	if err == nil {
		started.Add(proc.Pid)
		return proc.Release()
	}
	// Not the caller's context, which may be over: what has begun must go.
	return errors.Join(err, sweepMarked(context.WithoutCancel(ctx), boot.Mark, boot.Cgroup), removeSocket(shim.Dir(boot.Dir), boot.ID))
}
