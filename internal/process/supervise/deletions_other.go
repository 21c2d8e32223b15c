//go:build !linux

package supervise

import "os"

// Deletions does not tell here.
func Deletions(*os.File) (deleted <-chan os.Signal, end func()) { return nil, func() {} }
