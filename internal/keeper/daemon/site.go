package daemon

import (
	"os"
	"path/filepath"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/keeper"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
	"den/internal/session/home"
)

// site is the workspace that this process works for, as a keeper or beside one:
// where its files are, and what its sessions are started with.
type site struct {
	state        keeper.StateDir
	registration keeper.Registration // its identity never changes; a keeper's plan guards the rest
	home         home.Home
	den          string
	getenv       func(string) string
	environ      []string
}

// openSite finds the workspace that the command line names. identify says who it
// is. With fault.NotFound, which is of one that never was up, the rest is there.
func openSite(o options, environ []string, identify func(keeper.StateDir, keeper.Caller) (keeper.Registration, error)) (site, error) {
	s := site{den: o.den, getenv: environment.Getter(environ), environ: environ}
	var err error
	if s.state, err = keeper.At(o.file); err != nil {
		return s, err
	}
	if s.home, err = home.ResolveHome(o.home, s.getenv); err != nil {
		return s, err
	}
	if s.registration, err = identify(s.state, keeper.Caller{Home: s.home, Getenv: s.getenv, ID: o.id}); err != nil {
		return s, err
	}
	if s.registration.Home != s.home.Path { // that of its sessions, whatever the caller's is
		s.home = home.Home{Path: s.registration.Home, Explicit: true}
	}
	return s, nil
}

// read loads the workspace's file. One that gives no name has the name of the
// directory that it was first kept in: a moved workspace keeps its sessions.
func (s *site) read() (*workspace.Workspace, error) {
	ws, err := workspace.Load(s.state.Config)
	if err == nil && ws.NameDerived && s.registration.Name != "" {
		ws.Name = s.registration.Name
	}
	return ws, err
}

// subprocesses is the directory of sessions without a terminal. It is in the
// Home, so that they are found when the state directory was lost; a workspace
// from before keeps the one that it has.
func (s *site) subprocesses() string {
	if _, err := os.Stat(s.state.OldSessions()); err == nil {
		return s.state.OldSessions()
	}
	return filepath.Join(s.registration.Dir(), "subprocess")
}

// factory is what the workspace's providers are opened with.
func (s *site) factory() factory.Site {
	return factory.Site{
		Home: s.home, Owner: s.registration.ID, Binary: s.den, Version: build.Version,
		SessionsDir: s.subprocesses(), TmuxSocket: s.registration.TmuxSocket, Getenv: s.getenv,
	}
}
