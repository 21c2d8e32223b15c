// Package need skips tests that lack a program or a feature of the machine, or
// fails them where it is required.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// require, set to 1, makes a missing tool a failure: after 'make setup' none
// may be missing, and a test that is skipped in silence proves nothing.
const require = "DEN_TEST_REQUIRE"

// Missing skips the test because 'make setup' has not installed something, and
// fails it if DEN_TEST_REQUIRE is set.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	Feature(t, "%s; 'make setup' installs it", fmt.Sprintf(format, args...))
}

// Feature skips the test because the machine lacks a feature, and fails it if
// DEN_TEST_REQUIRE is set.
func Feature(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv(require) == "1" {
		t.Fatalf("%s, and %s=1 lets no test be skipped for that", reason, require)
	}
	t.Skip(reason)
}

// Program returns the path of a program, or skips the test as Missing does.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "%s is not installed", name)
	}
	return path
}
