// Package factory lists the session providers of this build: how each is
// opened, and how it reads its own part of the workspace file.
package factory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/provider/native"
	"den/internal/place/provider/subprocess"
	"den/internal/place/provider/tmux"
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
// runs_in must not meet old mistakes.
func Decode(a *workspace.Agent) (options any, problems workspace.Problems) {
	for _, f := range All {
		own := f.Kind == a.RunsIn
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

var nativeFactory = Factory{
	Kind: "native",
	Open: func(s Site, _ workspace.Table) (provider.Provider, error) {
		return native.Open(native.Options{Home: s.Home, Owner: s.Owner, Binary: s.Binary, Version: s.Version})
	},
	Used: func(Site) bool { return true }, // a Home is always there to be asked
}

var tmuxFactory = Factory{
	Kind: "tmux",
	Open: func(s Site, _ workspace.Table) (provider.Provider, error) {
		// A run directory goes with its user's last login.
		if err := os.MkdirAll(filepath.Dir(s.TmuxSocket), 0o700); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "make the tmux server's directory: %w", err)
		}
		return tmux.Open(tmux.Options{Socket: s.TmuxSocket, Owner: s.Owner})
	},
	Used: func(s Site) bool { return exists(s.TmuxSocket) },
}

var subprocessFactory = Factory{
	Kind: "subprocess",
	Open: func(s Site, _ workspace.Table) (provider.Provider, error) {
		return subprocess.Open(subprocess.Options{Dir: s.SessionsDir, Owner: s.Owner, Binary: s.Binary, Version: s.Version})
	},
	Used: func(s Site) bool { return exists(s.SessionsDir) },
}

var containerFactory = Factory{
	Kind: container.Kind,
	Open: func(s Site, t workspace.Table) (provider.Provider, error) {
		engine, problems := container.DecodeEngine(t)
		if len(problems) > 0 {
			return nil, problems
		}
		return container.Open(container.Options{
			Home: s.Home, Owner: s.Owner, Binary: s.Binary, Version: s.Version,
			Engine: engine.Socket, Brand: engine.Engine, Getenv: s.Getenv,
		})
	},
	Decode: func(a *workspace.Agent) (any, workspace.Problems) { return container.DecodeSpec(a) },
	// Containers are asked for only where an agent lives in one: no engine may
	// be there to be asked.
}

var kubernetesFactory = Factory{
	Kind: kubernetes.Kind,
	Open: func(s Site, t workspace.Table) (provider.Provider, error) {
		cluster, problems := kubernetes.DecodeCluster(t)
		if len(problems) > 0 {
			return nil, problems
		}
		return kubernetes.Open(kubernetes.Options{Home: s.Home, Owner: s.Owner, Binary: s.Binary, Version: s.Version, Cluster: cluster, Getenv: s.Getenv})
	},
	Decode: func(a *workspace.Agent) (any, workspace.Problems) { return kubernetes.DecodeSpec(a) },
	// Pods are asked for only where an agent lives in one: no cluster may be
	// there to be asked.
}

// exists takes what cannot be asked for there: a doubt costs one question.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
