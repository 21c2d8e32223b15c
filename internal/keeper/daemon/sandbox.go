package daemon

import (
	"context"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation"
	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
)

// confined is the sandbox of an agent's processes.
type confined struct {
	policy sandbox.Policy
	den    string
}

var _ agent.Confiner = confined{}

// Prepare makes the sandbox's own directories, and returns what holds it.
func (c confined) Prepare(context.Context) (string, error) {
	if err := os.MkdirAll(c.policy.WorkDir, 0o755); err != nil { // commands before the start run in it, too
		return "", fault.Errorf(fault.Storage, "make its directory: %w", err)
	}
	if err := c.policy.Begin(); err != nil {
		return "", err
	}
	return strings.Join(c.policy.Held.Tell(c.policy), "\n"), c.policy.Prepare()
}

// Await tells whether the session's command was executed.
func (c confined) Await() (*sandbox.Entry, error) { return c.policy.Await() }

// Started lets what is refused be told again.
func (c confined) Started() error { return c.policy.Begun() }

// Wrap is the command that becomes argv in the sandbox.
func (c confined) Wrap(argv []string) []string { return c.policy.Wrap(c.den, argv) }

// Explain says which words of a program come from the sandbox.
func (c confined) Explain(text string) []string { return c.policy.Denials(text, os.Environ()) }

// denialLines is how much of an agent's screen is looked at for what it was
// refused.
const denialLines = 60

// denialLimit bounds one look.
const denialLimit = 2 * time.Second

// tellDenials adds to what is done with an agent's changes of state: at the end
// of what it did, what the sandbox refused it is told in words.
func (d *deps) tellDenials(name, key string, p *sandbox.Policy, peek func(context.Context, int) (string, error), next func(conversation.State)) func(conversation.State) {
	if p == nil {
		return next
	}
	return func(s conversation.State) {
		if next != nil {
			next(s)
		}
		if s.Activity.TakesMessage() || s.Activity == conversation.Asking {
			d.lookForDenials(context.Background(), name, key, p, peek, s.Why)
		}
	}
}

// lookForDenials reads what an agent shows, and also says, for words of its
// sandbox.
func (d *deps) lookForDenials(ctx context.Context, name, key string, p *sandbox.Policy, peek func(context.Context, int) (string, error), also string) {
	ctx, cancel := context.WithTimeout(ctx, denialLimit)
	defer cancel()
	life, ok := p.Living()
	if !ok {
		return
	}
	text, err := peek(ctx, denialLines)
	if err != nil {
		return // its end is told by others
	}
	held, err := sandbox.Load(p.Private) // what it was started with: the file may say something else by now
	if err != nil {
		return // it was not started yet
	}
	fresh, err := held.Note(life, held.Denials(text+"\n"+also, d.environ))
	if err != nil {
		log.Printf("agent '%s': keep what its sandbox refused: %v", name, err)
	}
	for _, line := range fresh {
		d.owner.tell(keeper.Event{Type: keeper.EventDenied, Agent: name, Key: key, Why: line})
	}
}

// lookAtSandboxes looks at all agents in a sandbox, for somebody who asks: one
// that was refused something may not have changed its state by that.
func (d *daemon) lookAtSandboxes(ctx context.Context) {
	var looking sync.WaitGroup
	for _, m := range d.plan.now().members {
		if m.policy != nil {
			looking.Go(func() { d.lookForDenials(ctx, m.Name(), m.key, m.policy, m.LastText, "") })
		}
	}
	looking.Wait()
}

// confiner is the sandbox of an agent as its session needs it, nil for none. Of
// one with a harness, it is the harness that keeps the agent in it.
func confiner(p *sandbox.Policy, den string) agent.Confiner {
	if p == nil {
		return nil
	}
	return confined{policy: *p, den: den}
}

// policyOf is what an agent's processes may do, nil for one without a sandbox.
// tree is its own worktree, or zero.
func (d *deps) policyOf(ws *workspace.Workspace, ag *workspace.Agent, key string, tree worktree.Location) (*sandbox.Policy, error) {
	if !ag.Sandbox.Enabled {
		return nil, nil
	}
	p := &sandbox.Policy{
		Agent: ag.Name, WorkDir: ag.Dir, Home: d.getenv("HOME"), Private: d.registration.Sandbox(key),
		Network: sandbox.NetworkAny, Env: slices.Concat(ag.State.Env, ag.Sandbox.Env, slices.Sorted(maps.Keys(ag.Env.Values)), slices.Sorted(maps.Keys(ag.Env.Secrets))),
		Read: slices.Concat([]string{d.den, d.hookDir(key)}, ag.Sandbox.Read), Write: ag.Sandbox.Write,
		Protect: decides(ws), Hide: []string{d.home.Path, d.state.Path}, Held: d.support(),
	}
	if ag.Network != "" {
		p.Network = ag.Network
	}
	if tree.Path != "" && tree.Path != ag.Dir {
		p.Write = append(p.Write, tree.Path)
	}
	if script := ag.Hints.SessionSetupScript; script != "" {
		p.Read = append(p.Read, script)
	}
	if p.Held.Hides() && rpc.KnowsPeers() { // else the keeper could not tell who calls
		socket, err := d.registration.Socket(d.getenv)
		if err != nil {
			return nil, err
		}
		p.Sockets = []string{socket}
	}
	state := stateAt{home: p.Home, variables: ag.Env.Values, getenv: d.getenv}
	p.Read = append(p.Read, state.paths(ag.State.Read)...)
	p.Copy = state.paths(ag.State.Copy)
	if own := state.paths(ag.State.Write); len(own) > 0 {
		p.Write = append(p.Write, own...)
		for _, name := range ag.State.Keep {
			p.Keep = append(p.Keep, own[0]+"/"+name) // a slash at its end stays
		}
	}
	return p, p.Held.Enough(*p)
}

// fromSandbox are the methods of the keeper that an agent in a sandbox may call:
// what asks for a decision and changes nothing.
var fromSandbox = []string{keeper.MethodJudge}

// stateAt finds where a vendor's program keeps its state.
type stateAt struct {
	home      string
	variables map[string]string // the agent's own
	getenv    func(string) string
}

// paths fills in "${NAME:-DEFAULT}" and the home.
func (s stateAt) paths(all []string) []string {
	var paths []string
	for _, path := range all {
		if begin, rest, ok := strings.Cut(path, "}"); ok && strings.HasPrefix(begin, "${") {
			name, value, _ := strings.Cut(begin[2:], ":-")
			if own := s.variables[name]; own != "" {
				value = own
			} else if theirs := s.getenv(name); theirs != "" {
				value = theirs
			}
			path = value + rest
		}
		if rest, ok := strings.CutPrefix(path, "~/"); ok && s.home != "" {
			path = filepath.Join(s.home, rest)
		}
		if filepath.IsAbs(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// decides lists the files of a workspace that decide what runs, and what agents
// may do, as far as they are there.
func decides(ws *workspace.Workspace) []string {
	var all []string
	for _, f := range ws.Decisive(nil) {
		if _, err := os.Lstat(f.Path); err == nil {
			all = append(all, f.Path)
		}
	}
	return all
}
