package shim

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetBinary unmaps the pages of den's own code and constants. They are
// clean and stay in the page cache, so using one again costs a fault and no
// read; at rest a shim needs almost none of them. It is a saving, not a need:
// where it cannot be done, nothing is.
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
		// FROM-TO PERMISSIONS OFFSET DEVICE INODE PATH
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != self || !strings.HasPrefix(fields[1], "r-") {
			continue
		}
		first, last, _ := strings.Cut(fields[0], "-")
		from, err1 := strconv.ParseUint(first, 16, 64)
		to, err2 := strconv.ParseUint(last, 16, 64)
		if err1 == nil && err2 == nil {
			unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from), unix.MADV_DONTNEED) // Best effort.
		}
	}
}
