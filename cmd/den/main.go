// Command den gives AI agents durable terminals.
package main

import (
	"os"

	"den/internal/ui/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
