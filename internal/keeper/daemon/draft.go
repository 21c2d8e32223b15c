package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/keeper"
	"den/internal/keeper/boxes"
	"den/internal/keeper/judge"
	"den/internal/keeper/trees"
	"den/internal/place/provider"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
	"den/internal/process/supervise"
)

// draft holds what a plan needs and the keeper does not have yet. Nothing of a
// file is in force, in memory or on disk, before its plan is accepted.
type draft struct {
	d       *deps
	ws      *workspace.Workspace
	opened  map[string]provider.Provider // by kind
	sources map[string]*sources.Live     // by the agent's name; nil for none
	minds   map[string]harness.Config    // by state directory

	policies map[string]judge.Policy // by the agent's key
}

func (d *deps) newDraft(ws *workspace.Workspace) *draft {
	return &draft{d: d, ws: ws, opened: map[string]provider.Provider{}, sources: map[string]*sources.Live{}, minds: map[string]harness.Config{}, policies: map[string]judge.Policy{}}
}

// provider returns the provider of a kind: the keeper's, or one that becomes
// the keeper's.
func (f *draft) provider(kind string) (provider.Provider, error) {
	if p, ok := f.d.providers.lookup(kind); ok {
		return p, nil
	}
	if p, ok := f.opened[kind]; ok {
		return p, nil
	}
	p, err := openProvider(f.d.factory(), kind, f.ws.Session)
	if err != nil {
		return nil, err
	}
	f.opened[kind] = p
	return p, nil
}

// openProvider opens a provider as the workspace's file has it.
func openProvider(site factory.Site, kind string, session workspace.Session) (provider.Provider, error) {
	made, err := factory.Of(kind)
	if err == nil {
		var p provider.Provider
		if p, err = made.Open(site, session.Tables.Of(made.Kind)); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("open provider %s: %w", kind, err)
}

// boxed is the provider of agents whose harness runs here and whose processes
// in a container or in a pod.
func (f *draft) boxed(kind string) (provider.Provider, error) {
	here, err := f.provider("native")
	if err != nil {
		return nil, err
	}
	there, err := f.provider(kind)
	if err != nil {
		return nil, err
	}
	return boxes.Provider(kind, here, there)
}

// accept makes all of it the keeper's. What harnesses read is written first:
// that may fail, and then nothing is accepted.
func (f *draft) accept() error {
	for dir, c := range f.minds {
		if err := c.Save(dir); err != nil {
			return err
		}
		if c.Server.Own {
			if _, err := f.d.chat.Secret(c.Nick); err != nil {
				return err
			}
		}
	}
	if err := f.d.policies.Replace(f.policies); err != nil {
		return err
	}
	f.d.providers.accept(f.ws.Session, f.opened)
	f.d.sources.accept(f.sources)
	return nil
}

// discard lets go of what was not accepted.
func (f *draft) discard() {
	closeProviders(f.opened)
	for _, live := range f.sources {
		closeSource(live)
	}
}

// member makes one agent of the workspace's entry; of a pool there are many,
// each with a name of its own.
func (f *draft) member(ag *workspace.Agent, name, key string) (member, error) {
	d, ws := f.d, f.ws
	kind, box := ag.SessionProvider, ""
	p, err := f.provider(kind)
	if err == nil && boxes.Is(ag) {
		kind, box = "native", kind
		p, err = f.boxed(box)
	}
	if err != nil {
		return member{}, fmt.Errorf("agent '%s': %w", name, err)
	}
	template := ag.SessionTemplate
	if template == "" {
		template = ws.SessionTemplate
	}
	names, warning := agent.NewNames(template)
	if warning != nil {
		log.Printf("warning: %v", warning)
	}
	single := ag.Named(name)
	sessionName := names.Session(ws.Name, name)
	tree := trees.Place(d.registration.Worktrees(), ws, single, sessionName)
	options, problems := factory.Decode(ag)
	if len(problems) > 0 {
		return member{}, problems.In(ws.Path)
	}
	config, err := agent.ConfigOf(ws.Name, sessionName, single)
	if err != nil {
		return member{}, err
	}
	config.ProviderOptions = options
	policy, err := d.policyOf(ws, single, key, tree)
	if err != nil {
		return member{}, err
	}
	if single.IsMind() {
		if err := f.harnessed(single, name, key, sessionName, policy, &config); err != nil {
			return member{}, err
		}
	}
	queue, err := d.queues.of(name, key)
	if err != nil {
		return member{}, err
	}
	live, err := f.source(single, p, sessionName, key)
	if err != nil {
		return member{}, err
	}
	hook, err := f.policed(single, name, key)
	if err != nil {
		return member{}, err
	}
	noted := d.notes.Of(key)
	var m *agent.Managed
	peek := func(ctx context.Context, n int) (string, error) { return m.LastText(ctx, n) }
	onState := d.tellDenials(name, key, policy, peek, d.tellState(name, key, config.CodingAgent() || single.IsMind(), noted))
	m, err = agent.New(agent.Options{
		Workspace: ws.Name, WorkspaceFile: d.state.Config, Name: name, Session: sessionName, Provider: p, Config: config, Nudges: queue,
		Source: live.Source(), PrepareSource: preparer(live), OnState: onState,
		HandIn: hook, MakeDir: d.trees.Maker(tree), Confine: confiner(policy, d.den),
	})
	if err != nil {
		return member{}, err
	}
	noted.Follow(name, m.DenSession, queue.LastHanded)
	approval, _ := single.ShownApproval()
	return member{Managed: m, notes: noted, key: key, tree: tree, kind: kind, box: box, approval: approval, policy: policy}, nil
}

// attach joins this process's terminal to an agent's session. It needs no
// keeper: the session is there without one.
func attach(o options, environ []string, name string) error {
	s, err := openSite(o, environ, keeper.StateDir.Identify)
	if err != nil {
		return err
	}
	ws, err := s.read()
	if err != nil {
		return err
	}
	d := newDeps(s, nobody())
	plan := d.newDraft(ws) // it is the keeper's to accept
	defer plan.discard()
	ag, err := ws.Agent(name)
	if err != nil {
		return err
	}
	m, err := plan.member(ag, ag.Name, ag.Name) // its key is only the keeper's to give
	if err != nil {
		return err
	}
	ctx, stop := supervise.UntilSignalled()
	defer stop()
	looked := func() { _ = m.notes.Look(time.Now()) } // Best effort: it is only said.
	looked()
	err = m.Attach(ctx, provider.Terminal{In: os.Stdin, Out: os.Stdout})
	looked()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
