package host

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"sync"
	"time"
)

// A hook is a user's program that reads a cell's output line by line, without
// control sequences, and exits when it recognises the end of the cell.

// hookQueue bounds the chunks queued for a slow hook. At the bound the oldest
// are dropped: a hook looks for the end of the output.
const hookQueue = 256

// hookTail is how long a line without a newline must be unchanged before the
// hook gets it. Prompts have none.
const hookTail = 50 * time.Millisecond

// hook is one run of it, for one cell.
type hook struct {
	chunks chan []byte
	stop   chan struct{} // closed when the cell is over
	ended  chan struct{} // closed when the hook has ended
	work   sync.WaitGroup
}

// startHook runs the user's program for a cell.
func startHook(path string) (*hook, error) {
	cmd := exec.Command(path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start hook: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start hook: %w", err)
	}
	h := &hook{chunks: make(chan []byte, hookQueue), stop: make(chan struct{}), ended: make(chan struct{})}
	h.work.Go(func() {
		defer close(h.ended)
		cmd.Wait() // the host's reaper may be first: either way it has ended
	})
	h.work.Go(func() {
		defer stdin.Close()
		h.feed(func(line []byte) error {
			_, err := stdin.Write(append(line, '\n'))
			return err
		})
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

// push queues output for the hook. It never blocks.
func (h *hook) push(chunk []byte) {
	chunk = bytes.Clone(chunk)
	for {
		select {
		case h.chunks <- chunk:
			return
		default:
		}
		select {
		case <-h.chunks: // the oldest makes room
		default:
		}
	}
}

// close ends the hook and waits for its goroutines.
func (h *hook) close() {
	close(h.stop)
	h.work.Wait()
}

// control matches control sequences.
var control = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f]")
})

// feed writes lines until the cell is over or the hook stops reading.
func (h *hook) feed(write func([]byte) error) {
	var rest []byte
	tail := time.NewTimer(time.Hour)
	defer tail.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-h.ended:
			return
		case chunk := <-h.chunks:
			rest = append(rest, chunk...)
			for {
				line, more, found := bytes.Cut(rest, []byte("\n"))
				if !found {
					break
				}
				rest = more
				if write(control().ReplaceAll(line, nil)) != nil {
					return
				}
			}
			tail.Reset(hookTail)
		case <-tail.C:
			if len(rest) > 0 {
				if write(control().ReplaceAll(rest, nil)) != nil {
					return
				}
				rest = nil
			}
		}
	}
}
