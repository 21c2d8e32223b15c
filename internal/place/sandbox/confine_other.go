//go:build !linux

package sandbox

import (
	"fmt"
	"io"
)

// Main needs Linux.
func Main(_, _ []string, _, stderr io.Writer) int {
	fmt.Fprintln(stderr, "den: sandbox: this system has none")
	return 126
}

// Probe needs Linux; elsewhere nothing can be held.
func Probe(string) Support { return Support{Why: "this is not Linux"} }
