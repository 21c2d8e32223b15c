// Package drivers lists the protocols by which den drives agents.
package drivers

import (
	"maps"
	"os"
	"slices"

	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/claude"
	"den/internal/agent/runner/codex"
	"den/internal/agent/runner/copilot"
	"den/internal/agent/runner/script"
	"den/internal/base/build"
)

// All are the drivers by the names of their protocols.
var All = map[string]runner.Driver{
	"acp":     acp.Driver{Files: true, Version: build.Version},
	"claude":  claude.Driver{},
	"codex":   codex.Driver{},
	"copilot": copilot.Driver{Getenv: os.Getenv},
	"script":  script.Driver{},
}

// Names lists the names of All, sorted.
func Names() []string { return slices.Sorted(maps.Keys(All)) }
