package attention

import (
	"cmp"
	"slices"
)

// Item is a session or an agent with its state.
type Item struct {
	ID string // differs between all items
	Attention
}

// Queue returns the items that need a person, what waits longest first. Items
// that wait for an unknown time are last.
func Queue(items []Item) []Item {
	queue := []Item{}
	for _, i := range items {
		if i.State.NeedsPerson() {
			queue = append(queue, i)
		}
	}
	slices.SortStableFunc(queue, longestFirst)
	return queue
}

func longestFirst(a, b Item) int {
	if x, y := a.Since.IsZero(), b.Since.IsZero(); x != y {
		if x {
			return 1
		}
		return -1
	}
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
}

// Counts counts the states.
func Counts(items []Item) map[State]int {
	n := map[State]int{}
	for _, i := range items {
		n[i.State]++
	}
	return n
}
