// Package dend is the program dend: the keeper of a workspace, and the programs
// that den becomes or starts beside it.
package dend

import (
	"io"

	"den/internal/agent/harness/harnessmain"
	"den/internal/keeper/daemon"
	"den/internal/ticks/ticksmain"
	"den/internal/ui/dashboard/tui"
	"den/internal/ui/dashboard/web"
	"den/internal/ui/mcp"
	"den/internal/ui/remote"
)

// programs are the main functions by the word that chooses them. They get the
// words after that one.
var programs = map[string]func(args, environ []string, stdout, stderr io.Writer) int{
	"harness": harnessmain.Main, // drives an agent by a protocol
	"kernel":  ticksmain.Main,   // agents that sleep and wake
	"mcp":     mcp.Main,         // serves models
	"remote":  remote.Main,      // runs a verb where the keeper of a cluster is
	"tui":     tui.Main,         // the dashboard in a terminal
	"web":     web.Main,         // the dashboard in a browser
}

// Main is the whole process. It returns the process status.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) > 1 {
		if program := programs[args[1]]; program != nil {
			return program(args[2:], environ, stdout, stderr)
		}
	}
	return daemon.Main(args, environ, stdout, stderr)
}
