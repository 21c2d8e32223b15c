// Package host is the process of one session: it owns the PTY, the event log
// and the screen, and serves them on one socket.
//
// Every chunk of the program's output gets one pass: append to the log, flush,
// feed the emulator, rotate the log if a segment is full, wake waiters and
// followers. State that passes, input and clients share is in core, under one
// mutex; cells, input queue, sizes, record and process tree have their own
// locks. Host.run owns every goroutine and waits for all of them.
// docs/concurrency.md lists goroutines, locks and bounds.
package host

import (
	"context"
	"log"
	"os"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Host owns one session.
type Host struct {
	dir     home.Dir
	version string

	tty    *pty.PTY
	core   *core
	input  *inputQueue
	tree   *tree.Tree
	cells  *cells
	server *server
	lock   *os.File // held open until the end: it says that we live

	sizes attachedSizes

	mu      sync.Mutex // guards record and endedBy
	record  *home.Manifest
	endedBy string // the signal that asked the host to end, or ""

	asked chan os.Signal // signals that ask the host to end

	threads    threads
	typing     sync.Mutex // one input at a time from the log to the queue
	resizing   sync.Mutex // one size at a time for emulator and PTY
	transition sync.Mutex // held while a kill or an upgrade begins: they exclude each other

	closed    chan struct{} // closed when the record is closed
	ending    chan struct{} // closed when the program has ended and all was read
	stopCells chan struct{} // closed when the cell goes to another binary
	killing   chan struct{} // closed when a kill begins
	upgrading chan struct{} // closed when the binary is about to be replaced
	newBinary string        // set before upgrading is closed
	guard     *guard        // likewise: it watches the replacement
	upgrades  int           // how often that happened

	syncAlways bool // the log is synced at every pass
}

// Scrollback is how many lines above the screen the emulator keeps.
const Scrollback = 10_000

// manifest returns a copy of the record.
func (h *Host) manifest() home.Manifest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *h.record
}

// edit changes the record and saves it. After the record is closed it does
// nothing, because gc may remove it at any time. A write error does not stop
// the session.
func (h *Host) edit(change func(*home.Manifest)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.record.Status.Final() {
		return
	}
	change(h.record)
	if err := h.dir.Save(h.record); err != nil {
		log.Printf("write record: %v", err)
	}
}

// advance moves the session to another status.
func (h *Host) advance(to home.Status, also func(*home.Manifest)) {
	h.edit(func(m *home.Manifest) {
		status, err := m.Status.Advance(to)
		if err != nil {
			log.Print(err) // cannot happen; the record keeps its status
			return
		}
		m.Status = status
		if also != nil {
			also(m)
		}
	})
}

// serve runs until the session's end, across failed upgrades.
func (h *Host) serve(ctx context.Context) error {
	for {
		if err := h.run(ctx); err != nil || !h.isUpgrading() {
			return err
		}
		if !h.tree.Over() {
			// Returns only when the new binary could not be run.
			log.Printf("upgrade: %v", h.replaceBinary())
		}
		if err := h.cancelUpgrade(); err != nil {
			return err
		}
	}
}

// run serves the session until its program has ended and its record is
// closed, or until the binary is to be replaced.
func (h *Host) run(ctx context.Context) error {
	stop := make(chan struct{})
	var workers, serving sync.WaitGroup
	read := make(chan struct{})
	workers.Go(func() { defer close(read); h.readTerminal() })
	workers.Go(func() { h.input.run(stop) })
	workers.Go(func() { h.holdReplies(stop) })
	workers.Go(func() { h.tree.Reap(stop) })
	workers.Go(func() { h.core.rest.Rest(stop, restAfter, h.threads.rest, h.lock, h.endDeleted) })
	workers.Go(func() { h.notePauses(stop) })
	workers.Go(func() { h.endOnSignal(stop) })
	serving.Go(func() { h.server.Serve(ctx, h.server.listener) })
	h.resumeRecording(stop, &workers)

	end := func() {
		h.stopServing()
		close(stop)
		h.tty.SetDeadline(time.Now()) // breaks off reads and writes
		workers.Wait()
		serving.Wait() // clients may take their last answers
	}
	select {
	case <-h.tree.Ended():
	case <-h.upgrading:
		close(h.stopCells)
		h.cells.work.Wait()
		end()
		return nil
	}
	exit := h.exit()
	h.drainTerminal(read)
	h.beginEnd()
	close(h.ending)
	h.cells.work.Wait()
	h.cgroup().Remove() // what outlives the program keeps it: see home.Dir.Sweep
	h.closeRecord(exit) // and a kill is answered
	h.core.awaitLogReaders()
	end()
	return h.tty.Close()
}

// beginEnd tells that the program has ended, or waits for what outlives it in
// a session that is killed.
func (h *Host) beginEnd() {
	if h.isKilled() {
		h.tree.EmptyWithin(tree.KillLimit)
		return
	}
	h.transition.Lock()
	defer h.transition.Unlock()
	if !h.isKilled() {
		h.advance(home.Exiting, nil)
	}
}

const (
	// drainQuiet is how long a terminal that something still holds open must be
	// silent after the program's end.
	drainQuiet = 50 * time.Millisecond
	// backlogPasses is more than what a program can leave unread takes: 68 KiB in
	// the kernel, and the chunks that the reader is ahead.
	backlogPasses = 4 * chunksAhead
)

// drainTerminal waits until all of the program's output was read. Usually the
// terminal hangs up with the program. If a process that outlives it holds the
// terminal open, output counts as complete after drainQuiet of silence in which
// nothing was left to read: the reader may be slower than the silence.
func (h *Host) drainTerminal(read <-chan struct{}) {
	begun := h.core.lastActivity()
	for before := begun; ; {
		select {
		case <-read:
			return
		case <-time.After(drainQuiet):
		}
		now := h.core.lastActivity()
		if now == before && !h.tty.OutputPending() {
			return
		}
		// An orphan that floods the terminal is not waited for.
		if now-begun > backlogPasses && time.Since(h.tree.Exit().At) > time.Second {
			return
		}
		before = now
	}
}

// exit is how the program ended.
func (h *Host) exit() wire.Exit {
	e := h.tree.Exit()
	return wire.Exit{Code: e.Code, Signal: e.Signal}
}

// closeRecord writes down how it ended: first the log, then the record, then
// the answers to those who wait.
func (h *Host) closeRecord(exit wire.Exit) {
	hash, seq := h.core.end(exit)
	h.edit(func(m *home.Manifest) {
		// Decided here, under the record's lock: a kill may just have begun.
		if m.Status == home.Destroying {
			m.Status = home.Destroyed
		} else {
			m.Status = home.Exited
		}
		code := exit.Code
		m.ExitCode, m.ExitSignal = &code, exit.Signal
		m.Ended = time.Now().UTC()
		m.FinalSeq, m.ScreenHash = seq, hash
	})
	h.core.announce(exit)
	close(h.closed)
}

// resumeRecording tries to write the log again while it cannot be written.
func (h *Host) resumeRecording(stop <-chan struct{}, workers *sync.WaitGroup) {
	workers.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-h.core.paused:
			}
			for again := true; again; {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
					again = h.core.retryLog()
					h.cells.saveUnsaved()
				}
			}
		}
	})
}

// requireRunning refuses commands for a session that is about to end.
func (h *Host) requireRunning() error {
	m := h.manifest()
	if !m.Status.Commandable() {
		return fault.Errorf(fault.NotRunning, "session '%s' is %s", m.Name, m.Status)
	}
	return nil
}
