package daemon

import (
	"context"
	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/workspace"
	"fmt"
	"log"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

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
