package daemon

import (
	"path/filepath"
	"sync"

	"den/internal/keeper"
	"den/internal/keeper/chatserver"
	"den/internal/keeper/judge"
	"den/internal/keeper/notes"
	"den/internal/keeper/trees"
	"den/internal/place/sandbox"
	"den/internal/place/worktree"
)

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
