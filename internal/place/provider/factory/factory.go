// Package factory lists the session providers of this build: how each is
// opened, and how it reads its own part of the workspace file.
package factory

import (
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/workspace"
	"den/internal/session/home"
)

// Site is what a workspace gives to its providers.
type Site struct {
	Home        home.Home
	Owner       string // of the sessions
	Binary      string // den, as an absolute path
	Version     string
	SessionsDir string // for sessions that are in no Home
	TmuxSocket  string // of the workspace's own tmux server
	Getenv      func(string) string
}

// A Factory makes the providers of one kind.
type Factory struct {
	Kind string
	// Open opens the provider. The table is its part of the file's [session].
	Open func(s Site, t workspace.Table) (provider.Provider, error)
	// Decode reads the provider's part of an agent, for provider.Config. It is
	// nil where agents have no such part.
	Decode func(a *workspace.Agent) (options any, problems workspace.Problems)
	// Used reports whether sessions of an earlier keeper may be there, without
	// opening anything. It is nil where that cannot be told.
	Used func(s Site) bool
}

// All are the factories, in the order in which they are named to people.
var All = []Factory{nativeFactory, tmuxFactory, subprocessFactory, containerFactory, kubernetesFactory}

// Of returns the factory of a kind; "" is native.
func Of(kind string) (Factory, error) {
	if kind == "" {
		kind = nativeFactory.Kind
	}
	var kinds []string
	for _, f := range All {
		if f.Kind == kind {
			return f, nil
		}
		kinds = append(kinds, f.Kind)
	}
	return Factory{}, fault.Hintf(fault.Errorf(fault.Unsupported, "no provider '%s' in this build", kind), "there are: %s", strings.Join(kinds, ", "))
}

// Decode reads every provider's part of an agent and returns that of its own
// provider. Parts for other providers are checked too: whoever changes
// session_provider must not meet old mistakes.
func Decode(a *workspace.Agent) (options any, problems workspace.Problems) {
	for _, f := range All {
		own := f.Kind == a.SessionProvider
		if f.Decode == nil || !own && a.Tables.Of(f.Kind).IsEmpty() {
			continue
		}
		o, p := f.Decode(a)
		problems = append(problems, p...)
		if own {
			options = o
		}
	}
	return options, problems
}
