// Package wake tells goroutines without waiting for them that something has
// happened.
package wake

// A Signal tells one goroutine to look again. It is a channel with room for one
// token: what is told twice before anybody has looked is one look.
type Signal chan struct{}

// New returns a signal that was not set.
func New() Signal { return make(Signal, 1) }

// Set never waits. A token that lies there already is enough.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// IsClosed reports whether a channel was closed that nothing is sent on.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
