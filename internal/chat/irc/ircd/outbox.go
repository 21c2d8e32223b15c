package ircd

import (
	"net"
	"sync"
	"time"
)

// An outbox is the send queue of one client. A goroutine writes it to the
// connection while there is something to write: an idle client has neither a
// goroutine nor a buffer for it.
type outbox struct {
	conn    net.Conn
	limit   int
	timeout time.Duration // for one write
	gone    chan struct{} // closed with the outbox
	written chan struct{} // closed after the last write, when the connection is closed

	mu      sync.Mutex // guards the fields below
	pending *buffer    // at most limit bytes, or nil; a client that exceeds it is disconnected
	writing bool       // a goroutine writes
	held    bool       // a burst releases it
	closed  bool       // takes no more lines
	reason  string     // why it was closed
	ended   bool       // nothing comes after what is pending
	failed  bool       // a write did; none follows
}

// A buffer holds lines for one client until they are written.
type buffer struct{ lines []byte }

// buffers are those that no client uses.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

const (
	// keptBuffer is how large a buffer may be that is used again.
	keptBuffer = 64 << 10
	// worthWriting is how much is written at once. More does not wait for the
	// end of a burst.
	worthWriting = 16 << 10
	// lastWrite is how long a client that is disconnected may take to read why.
	lastWrite = time.Second
)

func newOutbox(conn net.Conn, limits Limits) *outbox {
	return &outbox{conn: conn, limit: limits.SendQueue, timeout: limits.Write, gone: make(chan struct{}), written: make(chan struct{})}
}

// push queues a line and has it written. It never blocks.
func (o *outbox) push(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.addLocked(line) {
		o.startLocked()
	}
}

// hold queues a line that is written by release at the latest. It reports
// whether that has to be called: not where somebody does already.
func (o *outbox) hold(line []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.addLocked(line) || o.writing {
		return false
	}
	if len(o.pending.lines) >= worthWriting {
		o.startLocked()
		return false
	}
	first := !o.held
	o.held = true
	return first
}

// release has the lines written that were held.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = false
	if o.pending != nil {
		o.startLocked()
	}
}

// addLocked reports whether there is something to write now.
func (o *outbox) addLocked(line []byte) bool {
	if o.closed {
		return false
	}
	if o.pending != nil && len(o.pending.lines)+len(line) > o.limit {
		o.pending = nil
		o.closeLocked("SendQ exceeded")
		return false
	}
	o.appendLocked(line)
	return true
}

func (o *outbox) appendLocked(line []byte) {
	if o.pending == nil {
		o.pending = buffers.Get().(*buffer)
	}
	o.pending.lines = append(o.pending.lines, line...)
}

// close takes no more lines and ends the reading of the connection. Whoever
// reads it calls end. The first reason counts.
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
	now := time.Now()
	o.conn.SetReadDeadline(now)                 // Best effort: a closed connection is not read either.
	o.conn.SetWriteDeadline(now.Add(lastWrite)) // Best effort: also of a write that is under way.
}

// readUntil sets the time limit for reading the connection, unless it is
// closed: then nothing is read.
func (o *outbox) readUntil(deadline time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.conn.SetReadDeadline(deadline) // Best effort: the read reports a closed connection.
	}
}

// end closes the connection after what is queued and the reason are sent, and
// waits for that. The outbox is closed.
func (o *outbox) end() {
	if !o.finish() {
		o.hangUp()
	}
	<-o.written
}

// finish queues the reason as the last line. It reports whether that is
// written.
func (o *outbox) finish() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if o.failed {
		return false
	}
	o.appendLocked([]byte("ERROR :Closing link: " + o.reason + "\r\n"))
	o.startLocked()
	return true
}

// hangUp closes the connection, without the lock: TLS says goodbye first, which
// may take seconds. It is called once.
func (o *outbox) hangUp() {
	o.conn.Close() // Best effort: everything was written, or cannot be.
	close(o.written)
}

// why returns the reason of the close, or "" if it is open.
func (o *outbox) why() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason
}

// startLocked starts the goroutine that writes, unless it runs.
func (o *outbox) startLocked() {
	if !o.writing {
		o.writing = true
		go o.write()
	}
}

// write writes the queue to the connection until it is empty or a write fails,
// and closes the connection if it was told of its end.
func (o *outbox) write() {
	for {
		b, last := o.take()
		if b == nil {
			return
		}
		_, err := o.conn.Write(b.lines)
		b.reuse()
		if err != nil {
			last = o.fail()
		}
		if last {
			o.hangUp()
		}
		if last || err != nil {
			return
		}
	}
}

// fail notes that a write failed, and reports whether the end has come: if it
// has not, it closes the connection when it does.
func (o *outbox) fail() (ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true // and writing: no other goroutine starts
	if !o.closed {
		o.closeLocked("Write error")
	}
	return o.ended
}

// take returns what is queued and whether nothing comes after it, or nil if
// nothing is queued: then the goroutine ends. It sets the time limit for
// writing it, unless the close has.
func (o *outbox) take() (b *buffer, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, o.pending = o.pending, nil
	if b == nil {
		o.writing = false
		return nil, false
	}
	if !o.closed {
		o.conn.SetWriteDeadline(time.Now().Add(o.timeout)) // Best effort: the write reports a closed connection.
	}
	return b, o.ended
}

// reuse gives a buffer to the next client that needs one.
func (b *buffer) reuse() {
	if cap(b.lines) <= keptBuffer {
		b.lines = b.lines[:0]
		buffers.Put(b)
	}
}
