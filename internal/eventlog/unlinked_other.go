//go:build !unix

package eventlog

import "os"

// unlinked is always false where an open file cannot lose its name.
func unlinked(os.FileInfo) bool { return false }
