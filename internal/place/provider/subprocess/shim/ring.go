package shim

// Kept is how much output a shim keeps in memory, and of which it leaves the
// text behind.
const Kept = 1 << 20

// ring keeps the last Kept bytes. It grows as they come: most sessions
// never fill it.
type ring struct {
	buf  []byte
	head int  // where the oldest byte is, once buf is full
	cut  bool // bytes were dropped
}

func (r *ring) write(p []byte) {
	if over := len(p) - Kept; over > 0 {
		p = p[over:]
		r.cut = true
	}
	if room := Kept - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.head:], p)
		r.head = (r.head + n) % Kept
		p = p[n:]
		r.cut = true
	}
}

// bytes returns a copy of what is kept, the oldest first.
func (r *ring) bytes() []byte {
	out := make([]byte, 0, len(r.buf))
	out = append(out, r.buf[r.head:]...)
	return append(out, r.buf[:r.head]...)
}
