package supervise

import "runtime/debug"

// ReturnMemory gives back to the system what a process at rest does not need.
func ReturnMemory() {
	debug.FreeOSMemory()
	forgetBinary()
}
