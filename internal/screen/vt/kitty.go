package vt

// maxKitty bounds the stack of keyboard flags; the oldest entry is dropped.
const maxKitty = 16

// kittyStack is the kitty keyboard protocol's state of one screen.
type kittyStack struct {
	flags uint8   // in force
	stack []uint8 // pushed below it; or nil
}

const kittyKnown = 1<<5 - 1

func (k *kittyStack) push(flags int) {
	// A new slice each time: saved copies must not see the change.
	old := k.stack
	if len(old) >= maxKitty {
		old = old[len(old)-maxKitty+1:]
	}
	k.stack = append(append([]uint8(nil), old...), k.flags)
	k.flags = uint8(flags & kittyKnown)
}

func (k *kittyStack) pop(n int) {
	for ; n > 0; n-- {
		if len(k.stack) == 0 {
			k.flags = 0
			return
		}
		k.flags = k.stack[len(k.stack)-1]
		k.stack = k.stack[:len(k.stack)-1]
	}
}

func (k *kittyStack) set(flags, how int) {
	f := uint8(flags & kittyKnown)
	switch how {
	case 1:
		k.flags = f
	case 2:
		k.flags |= f
	case 3:
		k.flags &^= f
	}
}
