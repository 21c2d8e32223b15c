package host

import (
	"errors"
	"io"
	"log"
	"os"
)

// The kernel buffers 12 KiB of a terminal's output and then blocks the
// program. In a flood of output one goroutine therefore only reads and another
// runs the passes, so that the program keeps running while its output is
// recorded and drawn. The buffer between them is bounded: a flood still waits
// for the log.
const (
	chunkSize   = 16 << 10
	chunksAhead = 4
	// A shorter chunk means that the program has paused. The reader processes
	// it itself, which is faster than handing it to another goroutine.
	floodChunk = 4 << 10
)

// readTerminal runs a pass for every chunk until the terminal hangs up.
func (h *Host) readTerminal() {
	free := make(chan []byte, chunksAhead)
	for range chunksAhead {
		free <- make([]byte, chunkSize)
	}
	read := make(chan []byte, chunksAhead)
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for chunk := range read {
			h.pass(chunk)
			free <- chunk[:chunkSize]
		}
	}()
	defer func() { close(read); <-passed }()
	for {
		buf := <-free
		n, err := h.tty.Take(buf)
		switch caughtUp := len(free) == chunksAhead-1; {
		case n > 0 && (n >= floodChunk || !caughtUp):
			if !caughtUp {
				h.threads.flood()
			}
			read <- buf[:n]
		case n > 0:
			h.pass(buf[:n])
			fallthrough
		default:
			free <- buf
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
				log.Printf("read terminal: %v", err)
			}
			return
		}
	}
}

// pass processes one chunk of output and answers what the program asked.
func (h *Host) pass(chunk []byte) {
	replies := h.core.output(chunk)
	h.tty.Handled()
	if replies {
		h.settleReplies()
	}
}
