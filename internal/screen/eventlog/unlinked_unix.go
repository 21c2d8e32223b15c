//go:build unix

package eventlog

import (
	"os"
	"syscall"
)

// unlinked reports whether the file has no name left.
func unlinked(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 0
}
