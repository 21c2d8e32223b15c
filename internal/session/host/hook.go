package host

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"den/internal/process/pty"
	"den/internal/session/cell"
)

// A hook is a user's program that reads a cell's output line by line, without
// control sequences, and exits when it recognises the end of the cell.

// hookQueue bounds the lines queued for a slow hook. At the bound the oldest are
// dropped: a hook looks for the end of the output.
const hookQueue = 4096

// hookTail is how long a line without a newline must be unchanged before the
// hook gets it, if the kernel does not tell whether the program waits.
const hookTail = 50 * time.Millisecond

// hook is one run of it, for one cell.
type hook struct {
	lines *hookLines // of the turn: core.mu guards it
	queue chan string
	stop  chan struct{} // closed when the cell is over
	ended chan struct{} // closed when the hook has ended
	work  sync.WaitGroup
}

// startHook runs the user's program for a cell. The echo of code is left out of
// what it reads.
func startHook(path, code string) (*hook, error) {
	cmd := exec.Command(path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start hook: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start hook: %w", err)
	}
	h := &hook{lines: newHookLines(code), queue: make(chan string, hookQueue), stop: make(chan struct{}), ended: make(chan struct{})}
	h.work.Go(func() {
		defer close(h.ended)
		cmd.Wait() // the host's reaper may be first: either way it has ended
	})
	h.work.Go(func() {
		defer stdin.Close()
		h.feed(stdin)
	})
	h.work.Go(func() {
		select {
		case <-h.stop:
			cmd.Process.Kill() // Best effort: it may have ended.
		case <-h.ended:
		}
	})
	return h, nil
}

// pushLocked queues the lines that a chunk of output completes. It never blocks.
func (h *hook) pushLocked(chunk []byte) { h.enqueue(h.lines.feed(chunk)) }

// restLocked queues the line that has not ended: the program waits for input.
func (h *hook) restLocked() { h.enqueue(h.lines.rest()) }

func (h *hook) enqueue(lines []string) {
	for _, line := range lines {
		for queued := false; !queued; {
			select {
			case h.queue <- line:
				queued = true
			default:
				select {
				case <-h.queue: // the oldest makes room
				default:
				}
			}
		}
	}
}

// close ends the hook and waits for its goroutines.
func (h *hook) close() {
	close(h.stop)
	h.work.Wait()
}

// feed writes lines until the cell is over or the hook stops reading.
func (h *hook) feed(to io.Writer) {
	for {
		select {
		case <-h.stop:
			return
		case <-h.ended:
			return
		case line := <-h.queue:
			if _, err := io.WriteString(to, line+"\n"); err != nil {
				return // it reads no more, and will end
			}
		}
	}
}

// restHook hands the hook the line that has not ended, once nobody can add to
// it: the kernel says that the program waits for input or, where it cannot say,
// nothing was written for a while. A program that pauses in the middle of a line
// does not split it.
func (r *running) restHook(o cell.Observed, activity uint64) {
	waits := o.Ready || o.Probe.State == pty.Unknown && o.Quiet >= hookTail
	if r.turn.hook == nil || !o.Sent || !waits {
		return
	}
	c := r.cells.h.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Activity == activity { // or more has come since
		r.turn.hook.restLocked()
	}
}
