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
// read; but at rest hosts and shims need almost none of them. It is a saving,
// not a need: where it cannot be done, nothing is.
func forgetBinary() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close() // Best effort: it was only read.
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var permissions string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &permissions); err != nil {
			continue
		}
		if strings.HasSuffix(line, " "+self) && strings.HasPrefix(permissions, "r-") {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // Best effort: see above.
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
