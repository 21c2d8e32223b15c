package daemon

import (
	"os"
	"path/filepath"
	"sync"

	"den/internal/base/build"
	"den/internal/base/environment"
	"den/internal/keeper"
	"den/internal/keeper/chatserver"
	"den/internal/keeper/judge"
	"den/internal/keeper/notes"
	"den/internal/keeper/trees"
	"den/internal/place/provider/factory"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
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

// deps are what the agents of a workspace are made with, by a keeper and by a
// process that only attaches. Each has its own lock.
type deps struct {
	site
	owner     owner
	chat      *chatserver.Server
	providers *providers
	trees     *trees.Trees
	notes     *notes.Book
	policies  *judge.Screens
	queues    *queues
	sources   *liveSources
	support   func() sandbox.Support // what this machine can hold sandboxes with
}

// owner is who has made the deps, as they need it.
type owner struct {
	keeps  bool                        // it keeps agents running, not only ends them
	tell   func(keeper.Event)          // notes what happened
	ended  func(session string)        // hears of sessions that end
	status func() []keeper.AgentStatus // of the agents
	nameOf func(key string) string     // what the agent of a key is called now
	paths  func() []string             // of the agents' worktrees
}

// nobody is the owner of a process that keeps no agents.
func nobody() owner {
	return owner{
		tell: func(keeper.Event) {}, ended: func(string) {}, status: func() []keeper.AgentStatus { return nil },
		nameOf: func(key string) string { return key }, paths: func() []string { return nil },
	}
}

func newDeps(s site, o owner) *deps {
	d := &deps{
		site: s, owner: o, chat: chatserver.New(s.state.Chat(), s.getenv), providers: newProviders(s.factory(), o.ended),
		notes: notes.New(s.home, filepath.Join(s.registration.Dir(), "lock")), policies: judge.New(), sources: newLiveSources(),
		support: sync.OnceValue(func() sandbox.Support { return sandbox.Probe(s.den) }),
	}
	d.queues = newQueues(s.state.Nudges(), d.tellNudge)
	d.trees = trees.New(trees.Options{Root: s.registration.Worktrees(), Git: worktree.Git{Environ: s.environ}, Runs: d.treeRuns, Paths: o.paths})
	return d
}

// close lets go of what runs for them. Agents run on.
func (d *deps) close() {
	d.sources.close()
	d.providers.close()
	d.chat.Close()
}
