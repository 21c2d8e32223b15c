package tree

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetBinary unmaps the pages of den's own code and constants. They are
// clean and stay in the page cache, so using one again costs a fault and no
// read; but at rest hosts and shims need almost none of them. A mapping with a
// page that was written to, as the dynamic linker does in a build with cgo, is
// left alone: it would be lost. It is a saving, not a need: where it cannot be
// done, nothing is.
func forgetBinary() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()     // Best effort: it was only read.
	var begin, end uintptr // of the mapping
	code := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var permissions string
		var written int
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &permissions); err == nil {
			begin, end = from, to
			code = strings.HasSuffix(line, " "+self) && strings.HasPrefix(permissions, "r-")
		} else if _, err := fmt.Sscanf(line, "Anonymous: %d kB", &written); err == nil && code && written == 0 {
			unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_DONTNEED) // Best effort: see above.
		}
	}
}

// ownMemory returns how many bytes of memory belong to this process alone. It
// asks the kernel: the runtime's own statistics take half a megabyte to make.
func ownMemory() (int, bool) {
	sums, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(sums, []byte("\nAnonymous:"))
	var kilobytes int
	if _, err := fmt.Sscan(string(rest), &kilobytes); !ok || err != nil {
		return 0, false
	}
	return kilobytes << 10, true
}
