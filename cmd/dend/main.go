// Command dend keeps the agents of a workspace.
package main

import (
	"os"

	"den/internal/ui/dend"
)

func main() {
	os.Exit(dend.Main(os.Args, os.Environ(), os.Stdout, os.Stderr))
}
