package shim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/process/supervise"

	"golang.org/x/sys/unix"
)

// Main is the shim process: it reads its bootstrap from stdin, starts the
// command, says on stdout that it runs, and serves until the end.
func Main(ctx context.Context, version string, stdin io.Reader, stdout io.WriteCloser) error {
	prepareProcess()
	s, err := boot(version, stdin)
	ready := Ready{}
	if err != nil {
		ready.Error = rpc.FromError(err)
	}
	if werr := json.NewEncoder(stdout).Encode(ready); werr != nil && err == nil {
		log.Printf("tell the starter: %v", werr) // it went away; the session lives on
	}
	if err != nil {
		return err
	}
	supervise.LetGo(stdout)
	return s.serve(ctx)
}

// prepareProcess makes this process what a shim must be: small, and its files
// private.
func prepareProcess() {
	log.SetFlags(log.LstdFlags | log.LUTC | log.Lmsgprefix)
	log.SetPrefix("shim: ")
	debug.SetGCPercent(50)
	runtime.GOMAXPROCS(1)
	unix.Umask(0o077)
}

// boot takes the session over from its starter and starts the command last,
// when little can go wrong any more.
func boot(version string, stdin io.Reader) (*shim, error) {
	var b Bootstrap
	if err := json.NewDecoder(stdin).Decode(&b); err != nil {
		return nil, fault.Errorf(fault.Protocol, "read bootstrap: %w", err)
	}
	if b.V != BootstrapVersion {
		return nil, fault.Errorf(fault.Protocol, "bootstrap has version %d, this den knows %d", b.V, BootstrapVersion)
	}
	unix.CloseOnExec(LockFD)
	s := &shim{version: version, boot: &b, dir: Dir(b.Dir), lock: os.NewFile(LockFD, "lock"), activity: supervise.NewActivity(), closed: make(chan struct{})}
	// From now on, not when serve gets to it: one that comes early waits.
	s.asked = supervise.CatchSignals()
	if err := supervise.BecomeSubreaper(); err != nil {
		return nil, err // without it, not all processes could be ended
	}
	var err error
	if s.output, err = openOutput(s.dir, s.activity); err != nil {
		return nil, err
	}
	if s.listener, err = rpc.Listen(b.Socket); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s, nil
}

// begin starts the command and writes the record that makes it a session.
func (s *shim) begin() error {
	c, err := start(s.boot)
	if err != nil {
		return err
	}
	s.tree, s.out, s.input = supervise.Adopt(c.pid, s.boot.cgroup()), c.output, newInput(c.input)
	b := s.boot
	// The record first: who watches the lock takes the session for started.
	err = errors.Join(s.dir.saveRecord(&Record{
		ID: b.ID, Name: b.Name, Owner: b.Owner, Starts: b.Starts, Argv: b.Argv, WorkDir: b.WorkDir,
		Socket: b.Socket, Rows: b.Rows, PID: c.pid, Cgroup: b.Cgroup, Shim: s.version, Started: time.Now().UTC().Round(0),
	}), WriteLock(s.lock, b.Starts, b.Name))
	if err != nil {
		// The starter is told, and ends what has begun.
		return fault.Errorf(fault.Storage, "record session '%s': %w", b.Name, err)
	}
	return nil
}
