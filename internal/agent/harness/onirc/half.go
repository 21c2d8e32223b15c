package onirc

import (
	"slices"
	"sync"
)

// half is a message of which the server has the first lines only.
type half struct {
	id, target, text string
	said             int      // lines that the server has
	rest             []string // as they were cut then: another host name moves the cuts
}

// maxHalves bounds the messages that are remembered. The oldest goes: if it is
// sent again, it is sent whole.
const maxHalves = 100

// halves remembers how far messages have come whose sending failed, so that
// sending them again says nothing twice. A server with a history tells that
// itself; this is for those without.
type halves struct {
	mu  sync.Mutex // guards all
	all []half     // the oldest first; at most maxHalves
}

// take returns how far a message has come, and forgets it.
func (h *halves) take(id, target, text string) (half, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.all, func(o half) bool { return o.id == id && o.target == target && o.text == text })
	if at < 0 {
		return half{}, false
	}
	found := h.all[at]
	h.all = slices.Delete(h.all, at, at+1)
	return found, true
}

// keep remembers a message that was not sent whole.
func (h *halves) keep(o half) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = slices.DeleteFunc(h.all, func(old half) bool { return old.id == o.id && old.target == o.target && old.text == o.text })
	h.all = append(h.all, o)
	if len(h.all) > maxHalves {
		h.all = slices.Delete(h.all, 0, 1)
	}
}
