package dend

import (
	"context"
	"log"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"den/internal/keeper"
	"den/internal/workspace"
)

// settle is how long the workspace's files must rest before they are read:
// editors write in several steps.
const settle = 200 * time.Millisecond

// watch reads the workspace again when one of its files changes.
func (d *daemon) watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Printf("watch the workspace's files: %v; 'den reload' reads them", err)
		return
	}
	defer w.Close()
	watched := map[string]bool{}
	files := d.follow(w, watched)
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
				quiet.Reset(settle)
			}
		case err := <-w.Errors:
			log.Printf("watch the workspace's files: %v", err)
			quiet.Reset(settle)
		case <-quiet.C:
			if err := d.load(); err != nil {
				log.Printf("the workspace's file is not taken over: %v", err)
			}
			files = d.follow(w, watched)
		}
	}
}

// follow watches the directories of all files that the workspace is made of.
func (d *daemon) follow(w *fsnotify.Watcher, watched map[string]bool) []string {
	d.mu.Lock()
	files := slices.Clone(d.workspace.Files)
	d.mu.Unlock()
	if !slices.Contains(files, d.place.Config) {
		files = append(files, d.place.Config)
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

// scale asks the pools how many of them are wanted, on every patrol.
func (d *daemon) scale(ctx context.Context) {
	for {
		d.mu.Lock()
		ws, pause := d.workspace, d.workspace.Keeper.PatrolInterval
		d.mu.Unlock()
		if pause <= 0 {
			pause = 30 * time.Second
		}
		if d.scaleOnce(ctx, ws) {
			if err := d.apply(ws); err != nil {
				log.Printf("scale: %v", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// scaleOnce reports whether a pool wants another number. A check that fails
// changes nothing: a pool is not shrunk on a doubt.
func (d *daemon) scaleOnce(ctx context.Context, ws *workspace.Workspace) (changed bool) {
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		if ag.Pool == nil || ag.Pool.Check == "" {
			continue
		}
		n, err := count(ctx, ag, d.environ)
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			d.controller.Event(keeper.Event{Type: keeper.EventScaleFailed, Agent: ag.Name, Why: err.Error()})
			continue
		}
		d.mu.Lock()
		before := d.counts[ag.Name]
		d.counts[ag.Name] = n
		d.mu.Unlock()
		if n != before {
			changed = true
			d.controller.Event(keeper.Event{Type: keeper.EventScaled, Agent: ag.Name, Detail: map[string]any{"from": before, "to": n}})
		}
	}
	return changed
}

// sweep ends the sessions of this workspace that no agent of it claims: those
// of agents that were removed while no keeper ran.
func (d *daemon) sweep(ctx context.Context) {
	d.mu.Lock()
	claimed := map[string]bool{}
	kinds := map[string]bool{}
	for _, m := range d.members {
		claimed[m.kind+"\x00"+m.SessionName()] = true
		kinds[m.kind] = true
	}
	d.mu.Unlock()
	for kind := range kinds {
		p, err := d.places.get(kind)
		if err != nil {
			continue // its agents say so
		}
		running, err := p.ListRunning(ctx, "")
		if err != nil {
			log.Printf("look for sessions that nobody claims: %v", err)
			continue
		}
		for _, name := range running {
			if claimed[kind+"\x00"+name] {
				continue
			}
			d.controller.Event(keeper.Event{Type: keeper.EventOrphan, Why: "no agent of the workspace claims its session", Detail: map[string]any{"session": name, "provider": kind}})
			if err := p.Stop(ctx, name); err != nil {
				log.Printf("end session %s, which nobody claims: %v", name, err)
			}
		}
	}
}
