package supervise

import "runtime/debug"

// small is the memory below which a process at rest does not collect its
// garbage. The first collections take more memory, for the collector's own
// tables, than they free of so little.
const small = 2 << 20

// Memory returns memory to the system whenever a process comes to rest.
type Memory struct {
	kept int // bytes, after the last collection
}

// Return gives back to the system what a process at rest does not need.
func (m *Memory) Return() {
	if used, ok := ownMemory(); !ok || used > max(small, m.kept+m.kept/8) {
		debug.FreeOSMemory()
		m.kept, _ = ownMemory()
	}
	forgetBinary()
}
