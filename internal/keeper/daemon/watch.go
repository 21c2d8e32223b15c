package daemon

import (
	"context"
	"log"
	"path/filepath"
	"slices"
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
