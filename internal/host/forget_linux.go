package host

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetBinary unmaps the pages of den's own code and constants. They are
// clean and stay in the page cache, so using one again costs a fault and no
// read; but at rest a host needs almost none of them.
func forgetBinary() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // a saving, not a need
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var perms string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms); err != nil {
			continue
		}
		if strings.HasSuffix(line, " "+self) && strings.HasPrefix(perms, "r") && perms[1] == '-' {
			unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // Best effort.
		}
	}
}
