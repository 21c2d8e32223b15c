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

// Root skips the test because it needs root for what it is told, and fails it if
// DEN_TEST_REQUIRE is set.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Getuid() != 0 {
		Feature(t, "%s needs root: run the tests as root", what)
	}
}

// Long skips the test under -short, as it takes a while.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		Apart(t, "%s", why)
	}
}

// Target skips the test unless a target of the Makefile, which sets a variable,
// runs it.
func Target(t testing.TB, variable, target string) {
	t.Helper()
	if os.Getenv(variable) == "" {
		Apart(t, "'%s' runs it", target)
	}
}

// Apart skips the test because it is not meant to run here, whatever the machine
// has: it is a part of another test, a target of its own runs it, or what is
// tested has no such ability. It skips where DEN_TEST_REQUIRE is set, too.
func Apart(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Skipf(format, args...)
}
