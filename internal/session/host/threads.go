package host

import (
	"runtime"
	"sync"
)

// threads is how many goroutines of this process run at once: one, and two in a
// flood, when one reads and the other records and draws. For each, the runtime
// keeps memory of every size at hand: a second one costs a host at rest a
// quarter of a megabyte. More would only compete for the same work, and many
// sessions share the machine.
type threads struct {
	mu  sync.Mutex // guards the field below
	two bool
}

func (t *threads) flood() { t.set(true) }
func (t *threads) rest()  { t.set(false) }

func (t *threads) set(two bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case two == t.two:
	case two:
		runtime.GOMAXPROCS(2)
	default:
		runtime.GOMAXPROCS(1)
	}
	t.two = two
}
