//go:build !unix

package eventlog

import "os"

// unlinked returns false: here an open file cannot be unlinked.
func unlinked(os.FileInfo) bool { return false }
