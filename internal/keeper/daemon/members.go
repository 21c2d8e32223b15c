package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"den/internal/agent"
	"den/internal/keeper"
	"den/internal/keeper/boxes"
	"den/internal/keeper/trees"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
	"den/internal/process/tree"
)

// member makes one agent of the workspace's entry; of a pool there are many,
// each with a name of its own.
func (f *draft) member(ag *workspace.Agent, name, key string) (member, error) {
	d, ws := f.d, f.ws
	kind, box := ag.RunsIn, ""
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
	tree := trees.Locate(d.registration.Worktrees(), ws, single, sessionName)
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
	if single.ByProtocol() {
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
	driver, err := d.harnessOf(single, name, key, func(ctx context.Context) (bool, error) { return m.IsRunning(ctx) })
	if err != nil {
		return member{}, err
	}
	peek := func(ctx context.Context, n int) (string, error) { return m.LastText(ctx, n) }
	onState := d.tellDenials(name, key, policy, peek, d.tellState(name, key, config.CodingAgent() || single.ByProtocol(), noted))
	m, err = agent.New(agent.Options{
		Workspace: ws.Name, WorkspaceFile: d.state.Config, Name: name, Session: sessionName, Provider: p, Config: config, Nudges: queue,
		Source: live.Source(), Harness: driver, PrepareSource: preparer(live), OnState: onState,
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
	ctx, stop := tree.UntilSignalled()
	defer stop()
	looked := func() { _ = m.notes.Look(time.Now()) } // Best effort: it is only said.
	looked()
	err = m.Attach(ctx, os.Stdin, os.Stdout)
	looked()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
