package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/process/tree"
	"den/internal/session/home"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// A signal that asks the host to end kills it while it executes the new
// binary: a Go program cannot start with SIGTERM blocked. So a guard watches
// that moment, a process of the old binary that shares the session's lock. If
// the host ends before the new binary catches signals, the guard ends the session
// in order.

// GuardFlag is the argument that makes a host process a guard.
const GuardFlag = "--guard"

// The descriptors of a guard, besides the lock.
const (
	guardState = home.LockFD + 1 + iota // the file of the handover, written when the guard runs
	guardWatch                          // a pipe from the host: a byte dismisses the guard, its end alone does not
)

// guardBoot is what a guard is told.
type guardBoot struct {
	Home home.Home `json:"home"`
	ID   string    `json:"id"`
}

// guard is what a host has of its guard.
type guard struct {
	state *os.File // where the handover is written
	pipe  *os.File // where the guard is dismissed
}

func (h *Host) startGuard() (_ *guard, err error) {
	binary := "/proc/self/exe" // also where the file was replaced
	if runtime.GOOS != "linux" {
		if binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("start guard: %w", err)
		}
	}
	state, err := newStateFile()
	if err != nil {
		return nil, err
	}
	watch, pipe, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start guard: %w", err), state.Close())
	}
	defer watch.Close() // the guard has its own
	g := &guard{state: state, pipe: pipe}
	var ready home.Ready
	proc, err := tree.Detached{
		Binary: binary, Argv: []string{"den", "host", h.manifest().Name, h.dir.ID, GuardFlag}, Dir: "/", Log: h.dir.HostLog(),
		Env: []string{home.HostMark + "=" + h.dir.ID, tree.Single}, Extra: []*os.File{h.lock, state, watch},
	}.Start(context.Background(), guardBoot{Home: h.dir.Home, ID: h.dir.ID}, &ready)
	if err == nil {
		err = proc.Release() // whoever is the host when it ends reaps it
	}
	if err != nil {
		g.dismiss() // none, or one that is of no use
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return g, nil
}

// dismiss is for an upgrade that does not take place.
func (g *guard) dismiss() {
	tellGuard(g.pipe)
	g.state.Close() // Best effort: nobody reads it.
}

// tellGuard tells the guard that the host catches signals.
func tellGuard(pipe *os.File) {
	if _, err := pipe.Write([]byte{1}); err != nil && !errors.Is(err, unix.EPIPE) { // it is gone already
		log.Printf("dismiss the guard of the upgrade: %v", err)
	}
	pipe.Close() // Best effort: it was told.
}

// Guard is the process of a guard.
func Guard(version string, stdin io.Reader, stdout io.WriteCloser) error {
	configureProcess()
	for _, fd := range []int{home.LockFD, guardState, guardWatch} {
		unix.CloseOnExec(fd)
	}
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP) // who ends all processes of a session means the host
	var b guardBoot
	if err := json.NewDecoder(stdin).Decode(&b); err != nil {
		return fault.Errorf(fault.Protocol, "read the guard's bootstrap: %w", err)
	}
	if err := json.NewEncoder(stdout).Encode(home.Ready{}); err != nil {
		return fmt.Errorf("tell the host: %w", err)
	}
	tree.LetGo(stdout)
	if n, _ := os.NewFile(guardWatch, "watch").Read(make([]byte, 1)); n > 0 {
		return nil
	}
	h := newHost(b.Home.Dir(b.ID), version)
	return h.endForHost(guardState)
}

// endForHost ends the session of a host that ended while its binary was
// replaced.
func (h *Host) endForHost(stateFD int) (err error) {
	if h.record, err = h.dir.Load(); err != nil || h.record.Status.Final() {
		return err
	}
	log.Print("the host ended while its binary was replaced: its guard ends the session")
	h.advance(home.Destroying, func(m *home.Manifest) { m.EndedBy = home.EndedByUpgrade })
	h.endLeft()
	seq, hash := uint64(0), ""
	s, err := readState(stateFD)
	if err == nil {
		err = h.resumeCore(s)
	}
	if err == nil {
		hash, seq = h.core.end(wire.Exit{Code: unknownExit})
	}
	os.Remove(h.record.Socket) // Best effort: nobody listens there any more.
	h.edit(func(m *home.Manifest) {
		m.Status, m.Ended, m.FinalSeq, m.ScreenHash = home.Destroyed, time.Now().UTC(), seq, hash
	})
	return err
}

// unknownExit is the exit code of a program whose parent is gone.
const unknownExit = -1

// endLeft ends what the host left. The end of its terminal has asked the
// program to end already.
func (h *Host) endLeft() {
	ctx, cancel := context.WithTimeout(context.Background(), signalGrace)
	defer cancel()
	_ = poll.Until(ctx, func() (bool, error) { return len(h.dir.LeftRunning(h.record)) == 0, nil }) // what stays is killed
	if _, err := h.dir.Sweep(); err != nil {
		log.Print(err)
	}
	h.cgroup().Remove()
}
