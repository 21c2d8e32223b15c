package lead

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"

	"github.com/fsnotify/fsnotify"
)

// mirror brings the files of one directory into another, where a keeper can have
// its own beside them: those of a ConfigMap cannot be written beside, and are
// links that change.
type mirror struct{ from, to string }

// copy brings what is new or has changed. What is gone there stays.
func (m mirror) copy() error {
	if err := os.MkdirAll(m.to, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the workspace's directory: %w", err)
	}
	entries, err := os.ReadDir(m.from)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "read the workspace's files: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // a ConfigMap's versions
			continue
		}
		if err := m.copyFile(e.Name()); err != nil {
			return fault.Errorf(fault.KindOf(err), "bring the workspace's file %s: %w", e.Name(), err)
		}
	}
	return nil
}

func (m mirror) copyFile(name string) error {
	want, err := os.ReadFile(filepath.Join(m.from, name))
	if err != nil {
		return err
	}
	to := filepath.Join(m.to, name)
	if has, err := os.ReadFile(to); err == nil && bytes.Equal(has, want) {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return atomicfile.Replace(to, want)
}

// mirrorCheck is how often files are compared where nothing tells of a change.
const mirrorCheck = time.Minute

// follow brings changes until the context ends.
func (m mirror) follow(ctx context.Context) {
	changes := make(chan fsnotify.Event) // never ready where nothing can be watched
	if w, err := fsnotify.NewWatcher(); err == nil {
		defer w.Close()
		if err := w.Add(m.from); err != nil {
			log.Printf("watch %s: %v", m.from, err)
		}
		changes = w.Events
	}
	tick := time.NewTicker(mirrorCheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-changes: // several come together; a copy of what has not changed is none
		}
		if err := m.copy(); err != nil {
			log.Print(err) // the next change, or the next look, may have it
		}
	}
}
