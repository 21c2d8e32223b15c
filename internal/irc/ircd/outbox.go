package ircd

import (
	"net"
	"sync"
	"time"
)

// An outbox is the send queue of one client.
type outbox struct {
	conn  net.Conn
	limit int
	wake  chan struct{} // capacity one: something is queued, or it was closed
	gone  chan struct{} // closed with the outbox

	mu      sync.Mutex // guards the fields below
	pending []byte     // at most limit bytes; a client that exceeds it is disconnected
	closed  bool
	reason  string // why it was closed
}

func newOutbox(conn net.Conn, limit int) *outbox {
	return &outbox{conn: conn, limit: limit, wake: make(chan struct{}, 1), gone: make(chan struct{})}
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
	o.conn.SetWriteDeadline(time.Now().Add(lastWrite)) // Best effort: also of a write that is under way.
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

// take returns what is queued and whether nothing comes after it. It sets the
// time limit for writing it, unless the close has.
func (o *outbox) take(free []byte, timeout time.Duration) (lines []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.conn.SetWriteDeadline(time.Now().Add(timeout)) // Best effort: the write reports a closed connection.
	}
	lines, o.pending = o.pending, free[:0]
	return lines, o.closed
}

// keptBuffer is how large a buffer may be that an idle client keeps.
const keptBuffer = 4 << 10

// lastWrite is how long a client that is disconnected may take to read why.
const lastWrite = time.Second

// run writes the queue to the connection until the outbox is closed or a write
// fails, then closes the connection, which ends its reader.
func (o *outbox) run(timeout time.Duration) {
	defer o.conn.Close() // Best effort: everything was written, or cannot be.
	var free []byte
	for range o.wake {
		lines, last := o.take(free, timeout)
		if _, err := o.conn.Write(lines); err != nil {
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
