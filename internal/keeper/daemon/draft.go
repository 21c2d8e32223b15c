package daemon

import (
	"fmt"

	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/keeper/boxes"
	"den/internal/keeper/judge"
	"den/internal/place/provider"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"
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
