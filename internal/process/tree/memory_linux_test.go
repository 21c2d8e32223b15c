package tree_test

import (
	"runtime"
	"testing"

	"den/internal/process/tree"
)

// TestMemoryReturned: what a process used for a moment goes back to the system
// when it rests; at the next rest there is nothing to collect.
func TestMemoryReturned(t *testing.T) {
	stats := func() (s runtime.MemStats) {
		runtime.ReadMemStats(&s)
		return s
	}
	use := func() { // 32 MB, each page written to
		block := make([]byte, 32<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		runtime.KeepAlive(block)
	}
	var memory tree.Memory
	use()
	before := stats()
	memory.Return()
	after := stats()
	if held, was := after.HeapSys-after.HeapReleased, before.HeapSys-before.HeapReleased; held+24<<20 > was {
		t.Errorf("the heap held %d KB before and %d KB after: 32 MB of garbage stayed", was>>10, held>>10)
	}
	memory.Return()
	if n := stats().NumGC - after.NumGC; n != 0 {
		t.Errorf("%d collections at a second rest, want none: nothing was used between", n)
	}
	use()
	memory.Return()
	if stats().NumGC == after.NumGC {
		t.Error("no collection after another 32 MB were used")
	}
}
