package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent"
	"den/internal/base/build"
	"den/internal/base/rpc"
	"den/internal/keeper"
	"den/internal/keeper/controller"
	"den/internal/keeper/notes"
	"den/internal/place/decisive"
	"den/internal/place/sandbox"
	"den/internal/place/workspace"
	"den/internal/place/worktree"
	"den/internal/process/tree"
)

// daemon is one keeper.
type daemon struct {
	*deps
	lock       *os.File // of the state directory
	controller *controller.Controller
	started    time.Time
	told       context.Context // see options
	planning   sync.Mutex      // one plan at a time: a file's and the pools' answers never cross
	end        ending
	asks       asks
	plan       *plan
	warned     []string // what was last warned of; planning guards it
	checks     poolChecks
}

// newDaemon returns a keeper without a plan. keeps says whether it keeps agents
// running, or only ends them.
func newDaemon(s site, lock *os.File, c *controller.Controller, keeps bool, told context.Context) *daemon {
	d := &daemon{
		lock: lock, controller: c, started: time.Now(), told: told, end: newEnding(), asks: newAsks(),
		plan: newPlan(filepath.Base(filepath.Dir(s.state.Config))), checks: newPoolChecks(c.Event),
	}
	d.deps = newDeps(s, owner{keeps: keeps, tell: c.Event, ended: c.Ended, status: c.Status, nameOf: func(key string) string { return d.plan.now().nameOf(key) }, paths: d.treePaths})
	return d
}

// member is one agent with its place.
type member struct {
	*agent.Managed
	key   string
	notes *notes.Agent
	tree  worktree.Location // its own git worktree, or zero
	kind  string            // of its session's provider
	box   string            // of the provider of the container beside its session, or ""

	policy   *sandbox.Policy // of its sandbox, or nil
	approval string          // what it asks about, as it is shown; see workspace.Agent
}

// kinds are the providers in which the agent has sessions, all of one name.
func (m member) kinds() []string {
	if m.box == "" {
		return []string{m.kind}
	}
	return []string{m.kind, m.box}
}

// Key is what the agent is known by on disk.
func (m member) Key() string { return m.key }

// Session, Provider and Place make a member a controller's subject. An agent
// with a box lives there, whatever its harness runs in.
func (m member) Session() string  { return m.SessionName() }
func (m member) Provider() string { return cmp.Or(m.box, m.kind) }
func (m member) Place() string    { return strings.Join(m.kinds(), "+") }

// Start is the agent's, with a slot of the controller's.
func (m member) Start(ctx context.Context, slot *controller.Slot) error {
	return m.Managed.Start(ctx, slot)
}

// Running is IsRunning.
func (m member) Running(ctx context.Context) (bool, error) { return m.IsRunning(ctx) }

// Seen notes that somebody has looked.
func (m member) Seen(now time.Time) error { return m.notes.Look(now) }

// StartReport tells of the steps of the last start that did not simply work.
func (m member) StartReport() map[string]string {
	report := map[string]string{}
	for _, s := range m.LastStart() {
		if s.Outcome != agent.Done && s.Outcome != agent.Skipped {
			report[s.Name] = strings.TrimSpace(string(s.Outcome) + " " + s.Output)
		}
	}
	return report
}

var (
	_ controller.Subject  = member{}
	_ controller.Seer     = member{}
	_ controller.Reporter = member{}
)

// serve keeps the agents and answers until it is told to end. running is what
// runs already, nil where that was not asked yet.
func (d *daemon) serve(announce func(error), running map[string]listing) error {
	ctx, stop := tree.UntilSignalled()
	defer stop()
	ctx, down := context.WithCancelCause(ctx)
	defer down(nil)
	if d.told != nil {
		defer context.AfterFunc(d.told, func() { down(context.Cause(d.told)) })()
	}
	socket, err := d.registration.Socket(d.getenv)
	if err != nil {
		return err
	}
	l, err := rpc.Listen(socket)
	if err != nil {
		return err
	}
	if err := d.state.Save(keeper.Record{PID: os.Getpid(), Den: build.Version, Socket: socket, File: filepath.Base(d.state.Config), Started: d.started}); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := d.tellLastEnd(); err != nil {
		return errors.Join(err, l.Close())
	}
	d.controller.Event(keeper.Event{Type: keeper.EventKeeperStarted, Why: "den " + build.Version})
	announce(nil)

	var loops sync.WaitGroup
	if running == nil {
		running = d.listSessions(ctx)
	}
	swept := d.sweep(ctx, running) // before anything starts: what is not claimed may be an agent under an old name
	if swept != nil {
		log.Print(swept)
	}
	loops.Go(func() { d.providers.serve(ctx) })
	loops.Go(func() { d.controller.Run(ctx) })
	loops.Go(func() { d.scale(ctx) })
	loops.Go(func() { d.deliver(ctx) })
	loops.Go(func() { d.watch(ctx) })
	loops.Go(func() { d.tellReceivers(ctx) })
	loops.Go(func() { d.trees.Run(ctx) })
	loops.Go(func() { d.providers.prune(ctx) })
	server := keeper.NewServer((&handler{d: d}).Handle, build.Version)
	loops.Go(func() { server.Serve(ctx, l) })
	loops.Go(func() { rpc.KeepReachable(ctx, server) })
	loops.Go(func() { d.endWhenTold(ctx, down) })
	loops.Go(func() { d.endWhenRemoved(ctx, down) })
	loops.Wait()
	d.controller.Event(keeper.Event{Type: keeper.EventKeeperStopped, Why: fmt.Sprint(context.Cause(ctx))})
	if d.end.begun() {
		return swept // a session that could not be ended may still run
	}
	return nil
}

// load reads the workspace and makes it the plan. On an error the old one
// stays in force. A file that would end many agents at once is such an error,
// unless somebody has confirmed it.
func (d *daemon) load(confirmed bool) error {
	d.planning.Lock()
	defer d.planning.Unlock()
	before := d.plan.now()
	ws, err := d.read()
	if err == nil && before.loaded && !confirmed {
		err = d.hold(ws)
	}
	var sizes map[string]int
	if err == nil && !before.loaded {
		up, _ := d.controller.LastUp()
		sizes = poolsLeft(ws, up)
	}
	if err == nil {
		err = d.apply(ws, sizes)
	}
	told := fmt.Sprint(d.plan.refuse(err)) == fmt.Sprint(err)
	switch {
	case !before.loaded: // the keeper's first words say it
	case err == nil:
		detail := map[string]any{"agents": len(d.plan.now().members)}
		if added := granted(before.workspace, ws); len(added) > 0 {
			// It may not have been a person who changed the file.
			detail["added"] = added
			log.Printf("the workspace's file changed: it now runs or allows %q", added)
		}
		d.controller.Event(keeper.Event{Type: keeper.EventReloaded, Detail: detail})
	case told:
	case errors.As(err, new(*heldError)):
		d.controller.Event(keeper.Event{Type: keeper.EventHeld, Why: err.Error()})
	default:
		d.controller.Event(keeper.Event{Type: keeper.EventRefused, Why: err.Error()})
	}
	return err
}

// maxGranted bounds what is told of a changed file.
const maxGranted = 100

// granted are the commands and permissions of a workspace that it did not have
// before.
func granted(before, after *workspace.Workspace) []string {
	had := before.Grants()
	var added []string
	for _, g := range after.Grants() {
		if !slices.Contains(had, g) {
			added = append(added, g.Brief())
		}
	}
	if len(added) > maxGranted {
		added = append(added[:maxGranted], fmt.Sprintf("and %d more", len(added)-maxGranted))
	}
	return added
}

// apply makes ws what is wanted, with pools of the sizes that are known or
// that sizes says. Its caller holds planning.
func (d *daemon) apply(ws *workspace.Workspace, sizes map[string]int) error {
	counts := map[string]int{}
	maps.Copy(counts, d.plan.now().counts)
	maps.Copy(counts, sizes)
	wanted, members, err := d.propose(ws, counts)
	if err != nil {
		return err
	}
	d.warn(ws.Warnings)
	d.plan.replace(ws, counts, members, d.controller.Keeps)
	if d.owner.keeps {
		d.chat.Admit(slices.Sorted(maps.Keys(d.sockets())), ownersByNick(ws), d.notAnAgents)
	}
	d.controller.Apply(wanted)
	return d.note(ws, members)
}

// propose makes the plan of a workspace, and what it needs the keeper's. A
// workspace that is refused leaves everything as it was.
func (d *daemon) propose(ws *workspace.Workspace, counts map[string]int) ([]controller.Member, map[string]member, error) {
	chat, err := d.chat.Now()
	if err != nil {
		return nil, nil, err
	}
	if d.owner.keeps { // before the plan: harnesses are told where the channels are
		if err := d.chat.Ensure(ws); err != nil {
			return nil, nil, err
		}
	}
	f := d.newDraft(ws)
	plan, members, err := f.plan(counts, d.keysOf)
	if err == nil {
		err = decisive.Save(d.state.Decisive(), ws.Decisive(workDirs(members)))
	}
	if err == nil {
		err = f.accept()
	}
	if err != nil {
		f.discard()
		return nil, nil, errors.Join(err, d.chat.GoBack(chat))
	}
	return plan, members, nil
}

// workDirs returns what tells where an agent's commands run: it may be in a git
// worktree.
func workDirs(members map[string]member) func(*workspace.Agent) []string {
	return func(a *workspace.Agent) []string {
		names := []string{a.Name}
		if a.Pool != nil {
			names = append(names, a.Members(a.Pool.Max)...)
		}
		var dirs []string
		for _, m := range members {
			if dir := m.SessionConfig().WorkDir; dir != a.Dir && slices.Contains(names, m.Name()) {
				dirs = append(dirs, dir)
			}
		}
		slices.Sort(dirs)
		return dirs
	}
}

// note keeps in the Home by which name and in which providers the workspace has
// its sessions from now on.
func (d *daemon) note(ws *workspace.Workspace, members map[string]member) error {
	kinds := map[string]bool{}
	for _, kind := range d.registration.Providers {
		kinds[kind] = true
	}
	for _, m := range members {
		for _, kind := range m.kinds() {
			kinds[kind] = true
		}
	}
	name := ""
	if ws.NameDerived {
		name = ws.Name
	}
	return d.saveRegistration(name, kinds)
}

func (d *daemon) saveRegistration(name string, kinds map[string]bool) error {
	providers := slices.Sorted(maps.Keys(kinds))
	if name == d.registration.Name && slices.Equal(providers, d.registration.Providers) {
		return nil
	}
	d.registration.Name, d.registration.Providers = name, providers
	return d.registration.Save()
}

// warn tells each warning once. Its caller holds planning.
func (d *daemon) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(d.warned, w) {
			log.Printf("warning: %s", w)
		}
	}
	d.warned = warnings
}

// plan makes members of the workspace's agents. All of it works, or none.
func (f *draft) plan(counts map[string]int, keysOf func(map[string][]string) map[string]string) ([]controller.Member, map[string]member, error) {
	ws := f.ws
	if err := checkProviderParts(ws); err != nil {
		return nil, nil, err
	}
	var plan []controller.Member
	members := map[string]member{}
	names := namesOf(ws, counts)
	keys := keysOf(names)
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		var after []string
		for _, other := range ag.DependsOn {
			for _, name := range names[other] { // of a pool, all that are wanted now
				after = append(after, keys[name])
			}
			if key, ok := keys[other]; ok && names[other] == nil {
				after = append(after, key) // one member of a pool
			}
		}
		for _, name := range names[ag.Name] {
			m, err := f.member(ag, name, keys[name])
			if err != nil {
				return nil, nil, err
			}
			members[m.key] = m
			plan = append(plan, controller.Member{
				Subject: m, Policy: policy(ws, ag), Gently: true, After: after,
				Run: !ag.Suspended && !ws.Suspended, Suspended: ag.Suspended || ws.Suspended, Why: suspension(ws, ag),
			})
		}
	}
	return plan, members, nil
}

// namesOf lists the agents of each entry: itself, or the members of a pool. A
// pool of which no size is known has its least, and counts learns of it.
func namesOf(ws *workspace.Workspace, counts map[string]int) map[string][]string {
	names := map[string][]string{}
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		if ag.Pool == nil {
			names[ag.Name] = []string{ag.Name}
			continue
		}
		n := min(max(counts[ag.Name], ag.Pool.Min), ag.Pool.Max)
		counts[ag.Name] = n
		names[ag.Name] = ag.Members(n)
	}
	return names
}

// keysOf returns the keys of all these agents.
func (d *daemon) keysOf(names map[string][]string) map[string]string {
	return d.controller.Keys(slices.Concat(slices.Collect(maps.Values(names))...))
}

func suspension(ws *workspace.Workspace, ag *workspace.Agent) string {
	switch {
	case ws.Suspended:
		return "the workspace's file suspends it"
	case ag.Suspended:
		return "the workspace's file suspends this agent"
	}
	return "is wanted"
}

// policy is how an agent is kept, where the workspace says something.
func policy(ws *workspace.Workspace, ag *workspace.Agent) controller.Policy {
	p := controller.DefaultPolicy
	set := func(to *time.Duration, v time.Duration) {
		if v > 0 {
			*to = v
		}
	}
	set(&p.Patrol, ws.Keeper.PatrolInterval)
	set(&p.ShutdownTimeout, ws.Keeper.ShutdownTimeout)
	set(&p.ShutdownTimeout, ag.ShutdownTimeout)
	p.MaxReplacing = ws.Keeper.MaxReplacing
	if ag.Restart.Policy != "" {
		p.Restart = controller.Restart(ag.Restart.Policy)
	}
	set(&p.Window, ag.Restart.Window)
	set(&p.Backoff, ag.Restart.Backoff)
	set(&p.BackoffMax, ag.Restart.BackoffMax)
	set(&p.IdleTimeout, ag.IdleTimeout)
	set(&p.StallTimeout, ag.StallTimeout)
	p.StallRestart = ag.StallRestart
	if ag.Restart.MaxRestarts > 0 {
		p.MaxRestarts = ag.Restart.MaxRestarts
	}
	p.DrainTimeout = ag.DrainTimeout
	if ag.Pool != nil {
		p.DrainTimeout = ag.Pool.DrainTimeout
	}
	// The steps of a start have limits of their own; this one is for a
	// provider that hangs.
	set(&p.StartTimeout, 12*ag.StartupTimeout)
	p.StartTimeout += agent.PrepareLimit
	return p
}
