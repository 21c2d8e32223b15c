package ircd

// A burst is the clients that got lines while what one client sent at once is
// handled. They are written to when all of it is: once, not once a line. Only
// the goroutine that reads the sender uses it.
type burst struct{ waiting []*outbox }

// keptBurst is how many clients a burst has room for when it is empty.
const keptBurst = 64

func (b *burst) push(o *outbox, line []byte) {
	if o.hold(line) {
		b.waiting = append(b.waiting, o)
	}
}

// release has all lines of the burst written. It is called before its
// goroutine waits for anything.
func (b *burst) release() {
	for _, o := range b.waiting {
		o.release()
	}
	clear(b.waiting) // those who leave must not be kept by it
	b.waiting = b.waiting[:0]
	if cap(b.waiting) > keptBurst {
		b.waiting = nil
	}
}
