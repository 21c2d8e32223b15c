package ircd

import (
	"net"
	"sync"
	"time"
)

// An outbox is the send queue of one client.
type outbox struct {
	limit int
	wake  chan struct{} // capacity one: something is queued, or it was closed
	gone  chan struct{} // closed with the outbox

	mu      sync.Mutex // guards the fields below
	pending []byte     // at most limit bytes; a client that exceeds it is disconnected
	closed  bool
	reason  string // why it was closed
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

// push queues a line. It never blocks.
func (o *outbox) push(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if len(o.pending)+len(line) > o.limit {
		o.pending = nil
		o.closeLocked("SendQ exceeded")
		return
	}
	o.pending = append(o.pending, line...)
	o.wakeLocked()
}

// close ends the connection after what is queued and the reason are sent. The
// first reason counts.
func (o *outbox) close(reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closeLocked(reason)
	}
}

func (o *outbox) closeLocked(reason string) {
	o.closed, o.reason = true, reason
	close(o.gone)
	o.pending = append(o.pending, "ERROR :Closing link: "+reason+"\r\n"...)
	o.wakeLocked()
}

func (o *outbox) wakeLocked() {
	select {
	case o.wake <- struct{}{}:
	default: // it is awake
	}
}

// why returns the reason of the close, or "" if it is open.
func (o *outbox) why() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason
}

// take returns what is queued and whether nothing comes after it.
func (o *outbox) take(free []byte) (lines []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines, o.pending = o.pending, free[:0]
	return lines, o.closed
}

// keptBuffer is how large a buffer may be that an idle client keeps.
const keptBuffer = 4 << 10

// lastWrite is how long a client that is disconnected may take to read why.
const lastWrite = time.Second

// run writes the queue to the connection until the outbox is closed or a write
// fails, then closes the connection, which ends its reader.
func (o *outbox) run(conn net.Conn, timeout time.Duration) {
	defer conn.Close() // Best effort: everything was written, or cannot be.
	var free []byte
	for range o.wake {
		lines, last := o.take(free)
		if last {
			timeout = min(timeout, lastWrite)
		}
		conn.SetWriteDeadline(time.Now().Add(timeout)) // Best effort: the write reports a closed connection.
		if _, err := conn.Write(lines); err != nil {
			o.close("Write error")
			return
		}
		if last {
			return
		}
		if free = lines; cap(free) > keptBuffer {
			free = nil
		}
	}
}
