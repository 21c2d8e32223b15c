package factory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/container"
	"den/internal/place/provider/kubernetes"
	"den/internal/place/provider/native"
	"den/internal/place/provider/subprocess"
	"den/internal/place/provider/tmux"
	"den/internal/place/workspace"
)

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
