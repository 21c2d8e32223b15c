package spawntest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"
)

// OfThisMachine returns the command lines of all processes of this machine,
// those in containers too.
func OfThisMachine(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		need.Feature(t, "this system has no /proc: the command lines of others cannot be read")
	}
	var all strings.Builder
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		all.Write(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		all.WriteByte('\n')
	}
	return all.String()
}
