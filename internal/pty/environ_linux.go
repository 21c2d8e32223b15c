package pty

import (
	"bytes"
	"os"
	"strconv"
)

// HasEnv reports whether a process was started with the variable key. One
// that cannot be asked has it not.
func HasEnv(pid int, key string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environ, []byte(key+"=")) || bytes.Contains(environ, []byte("\x00"+key+"="))
}
