package daemon

import (
	"context"
	"fmt"
	"log"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent"
	"den/internal/agent/conversation/sources"
	"den/internal/agent/harness"
	"den/internal/base/fault"
	"den/internal/keeper/boxes"
	"den/internal/keeper/judge"
	"den/internal/place/provider"
	"den/internal/place/provider/factory"
	"den/internal/place/workspace"

	"github.com/fsnotify/fsnotify"
)

// inForce is the plan at one moment. Nothing of it changes.
type inForce struct {
	workspace *workspace.Workspace
	loaded    bool              // else no file was read yet
	problem   error             // why the newest file is not in force, or nil
	counts    map[string]int    // pools and how many of each are wanted
	members   map[string]member // all agents, by key
	leaving   map[string]member // those that are not wanted any more; they may still finish
	replaced  chan struct{}     // closed when there are other members
}

// all lists the agents: those that are wanted, then those that leave.
func (p inForce) all() []member {
	return slices.AppendSeq(slices.Collect(maps.Values(p.members)), maps.Values(p.leaving))
}

// nameOf returns what the agent of a key is called.
func (p inForce) nameOf(key string) string {
	for _, m := range p.all() {
		if m.key == key {
			return m.Name()
		}
	}
	return key // it is gone
}

// find returns an agent by its qualified name, or the only one whose last part
// it is.
func (p inForce) find(name string) (member, error) {
	var short []string
	var one member
	for _, m := range p.all() {
		switch full := m.Name(); {
		case full == name:
			return m, nil
		case path.Base(full) == name:
			short, one = append(short, full), m
		}
	}
	slices.Sort(short)
	switch {
	case len(short) == 1:
		return one, nil
	case len(short) > 1:
		return member{}, fault.Hintf(fault.Errorf(fault.Usage, "%d agents are called '%s'", len(short), name), "say which: %s", strings.Join(short, ", "))
	}
	err := fault.Errorf(fault.NotFound, "no agent '%s' in the workspace", name)
	for i := range p.workspace.Agents {
		if ag := &p.workspace.Agents[i]; ag.Pool != nil && (ag.Name == name || path.Base(ag.Name) == name) {
			return member{}, fault.Hintf(err, "'%s' is a pool; its agents are called %s-1, %s-2 and so on: 'den ps' lists them", name, ag.Name, ag.Name)
		}
	}
	return member{}, fault.Hintf(err, "'den ps' lists them")
}

// inSession returns the agent that lives in a session, by the name that den's
// own verbs have for it.
func (p inForce) inSession(session string) (member, bool) {
	all := p.all()
	i := slices.IndexFunc(all, func(m member) bool { return session != "" && m.DenSession() == session })
	if i < 0 {
		return member{}, false
	}
	return all[i], true
}

// plan holds what is in force.
type plan struct {
	mu sync.Mutex // guards at
	at inForce
}

// newPlan is that of a workspace whose file was not read yet.
func newPlan(name string) *plan {
	return &plan{at: inForce{workspace: &workspace.Workspace{Name: name}, replaced: make(chan struct{})}}
}

// now returns what is in force.
func (p *plan) now() inForce {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// refuse notes why the newest file is not in force, nil if it is, and returns what
// was noted before.
func (p *plan) refuse(problem error) (before error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.at.problem = p.at.problem, problem
	return before
}

// replace puts a workspace in force. Agents that it has no more are leaving as
// long as keeps says so.
func (p *plan) replace(ws *workspace.Workspace, counts map[string]int, members map[string]member, keeps func(key string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leaving := map[string]member{}
	for key, m := range p.at.leaving {
		if _, back := members[key]; !back && keeps(key) {
			leaving[key] = m
		}
	}
	for key, m := range p.at.members {
		if _, stays := members[key]; !stays {
			leaving[key] = m
		}
	}
	close(p.at.replaced)
	p.at = inForce{workspace: ws, loaded: true, problem: p.at.problem, counts: counts, members: members, leaving: leaving, replaced: make(chan struct{})}
}

// quietTime is how long the workspace's files must rest before they are read:
// editors write in several steps.
const quietTime = 200 * time.Millisecond

// watch reads the workspace again when one of its files changes.
func (d *daemon) watch(ctx context.Context) { d.watchWith(ctx, func() {}) }

// watchWith calls begun once changes are noticed.
func (d *daemon) watchWith(ctx context.Context, begun func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Printf("watch the workspace's files: %v; 'den reload' reads them", err)
		return
	}
	defer w.Close()
	watched := map[string]bool{}
	files := d.follow(w, watched)
	begun()
	quiet := time.NewTimer(0)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			// Directories are watched, because editors replace files; what
			// else happens there is not the workspace's.
			if slices.Contains(files, e.Name) && !e.Has(fsnotify.Chmod) {
				quiet.Reset(quietTime)
			}
		case err := <-w.Errors:
			log.Printf("watch the workspace's files: %v", err)
			quiet.Reset(quietTime)
		case <-quiet.C:
			if err := d.load(false); err != nil {
				log.Printf("the workspace's file is not taken over: %v", err)
			}
			files = d.follow(w, watched)
		}
	}
}

// follow watches the directories of all files that the workspace is made of.
func (d *daemon) follow(w *fsnotify.Watcher, watched map[string]bool) []string {
	ws := d.plan.now().workspace
	files := slices.Clone(ws.Files)
	for i := range ws.Agents {
		if prompt := ws.Agents[i].PromptTemplate; prompt != "" {
			files = append(files, filepath.Clean(prompt)) // another prompt is another agent
		}
	}
	if !slices.Contains(files, d.state.Config) {
		files = append(files, d.state.Config)
	}
	for _, f := range files {
		dir := filepath.Dir(f)
		if watched[dir] {
			continue
		}
		if err := w.Add(dir); err != nil {
			log.Printf("watch %s: %v; 'den reload' reads what is there", dir, err)
			continue
		}
		watched[dir] = true
	}
	return files
}

// heldError is a workspace file that would end many agents at once. It may be
// half of what somebody writes, or what a full disk left of it; what an agent
// has in its head does not come back.
type heldError struct {
	ended []string
	of    int
}

func (e *heldError) Error() string {
	return fmt.Sprintf("held: the workspace's file would end %d of %d agents at once (%s)", len(e.ended), e.of, strings.Join(e.ended, ", "))
}

// endsMany reports whether of that many agents too many would end at once:
// more than half, unless there is only one and another takes its place.
func endsMany(ended, of int, others bool) bool { return 2*ended > of && !(of == 1 && others) }

// hold refuses a file that would end many agents.
func (d *daemon) hold(ws *workspace.Workspace) error {
	now := d.plan.now()
	stay := map[string]bool{}
	for _, key := range d.keysOf(namesOf(ws, maps.Clone(now.counts))) {
		stay[key] = true // where it was, or moved
	}
	var ended []string
	for key, m := range now.members {
		if !stay[key] {
			ended = append(ended, m.Name())
		}
	}
	slices.Sort(ended)
	if !endsMany(len(ended), len(now.members), len(stay) > 0) {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Denied, "%w", &heldError{ended: ended, of: len(now.members)}), "'den reload --yes' lets it take effect")
}

// holdAtStart is hold for the file that a keeper begins with: of the sessions
// that run, those that no agent claims would be ended. up are the agents that
// the keeper before saw running; lost says that its memory is gone. It returns
// what runs, nil where nobody had to be asked.
func (d *daemon) holdAtStart(ctx context.Context, up map[string]string, lost bool) (map[string]listing, error) {
	now := d.plan.now()
	stay := map[string]bool{} // names of sessions
	for key, m := range now.members {
		stay[m.SessionName()] = true
		if name, ok := up[key]; ok {
			stay[sessionNamed(now.workspace, m, name)] = true // it moved since then
		}
	}
	gone, agents := 0, len(now.members)
	for key := range up {
		if _, stays := now.members[key]; !stays {
			gone++
		}
	}
	if !lost && !endsMany(gone, len(up), agents > 0) {
		return nil, nil
	}
	running := d.listSessions(ctx)
	all, ended := map[string]bool{}, map[string]bool{}
	for _, l := range running { // what cannot be asked is not ended, either
		for _, name := range l.names {
			all[name] = true
			if !stay[name] {
				ended[name] = true
			}
		}
	}
	if !endsMany(len(ended), len(all), agents > 0) {
		return running, nil
	}
	return running, fault.Hintf(fault.Errorf(fault.Denied, "%w", &heldError{ended: slices.Sorted(maps.Keys(ended)), of: len(all)}),
		"they run on without a keeper; 'den up --yes' lets the file take effect")
}

// sessionNamed is the name of the session that an agent had under another name.
func sessionNamed(ws *workspace.Workspace, m member, name string) string {
	template := ws.SessionTemplate
	if ag, err := ws.Agent(m.Name()); err == nil && ag.SessionTemplate != "" {
		template = ag.SessionTemplate
	}
	names, _ := agent.NewNames(template) // it was warned of
	return names.Session(ws.Name, name)
}

// poolsLeft returns how many of each pool the keeper before had running, so
// that none of them is ended before the pool is asked.
func poolsLeft(ws *workspace.Workspace, up map[string]string) map[string]int {
	ran := map[string]bool{}
	for _, name := range up {
		ran[name] = true
	}
	sizes := map[string]int{}
	for i := range ws.Agents {
		if ag := &ws.Agents[i]; ag.Pool != nil {
			for n, name := range ag.Members(ag.Pool.Max) {
				if ran[name] {
					sizes[ag.Name] = n + 1
				}
			}
		}
	}
	return sizes
}

// draft holds what a plan needs and the keeper does not have yet. Nothing of a
// file is in force, in memory or on disk, before its plan is accepted.
type draft struct {
	d         *deps
	ws        *workspace.Workspace
	opened    map[string]provider.Provider // by kind
	sources   map[string]*sources.Live     // by the agent's name; nil for none
	harnesses map[string]harness.Config    // by state directory

	policies map[string]judge.Policy // by the agent's key
}

func (d *deps) newDraft(ws *workspace.Workspace) *draft {
	return &draft{d: d, ws: ws, opened: map[string]provider.Provider{}, sources: map[string]*sources.Live{}, harnesses: map[string]harness.Config{}, policies: map[string]judge.Policy{}}
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
	for dir, c := range f.harnesses {
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
