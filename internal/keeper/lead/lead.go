// Package lead elects one keeper of a workspace among several in a cluster: the
// one that holds the lease keeps it.
package lead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"
	"den/internal/place/lease"
	"den/internal/place/provider/kubernetes"
	"den/internal/process/tree"
)

// envPod has the name of the pod that a keeper in a cluster runs in.
const envPod = "DEN_POD"

// releaseLimit bounds how long a keeper that ends may take to let go of its lease.
const releaseLimit = 5 * time.Second

// Options are what the command line of a keeper with a lease says.
type Options struct {
	File  string // the workspace's
	Lease string // its name
	From  string // the directory that the workspace's files are brought from, or ""
}

// A Keep is a keeper's life. It ends when told does. id is that of a workspace that
// was never kept.
type Keep func(told context.Context, id string) error

// Lead keeps the workspace while this process holds the lease. The pods of one
// Deployment so have one keeper, also when one of them is cut off. A keeper that
// does not hold the lease any more ends this very moment, whatever it is about to
// do: files are whole at every moment, agents run on, and the next keeper finds
// them.
func Lead(o Options, getenv func(string) string, keep Keep) error {
	pod := getenv(envPod)
	if pod == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "a keeper with a lease needs the name of its pod"), "set %s from metadata.name", envPod)
	}
	config, namespace, err := kubernetes.Config(kubernetes.Cluster{}, getenv)
	if err != nil {
		return err
	}
	l, err := lease.Open(config, namespace, o.Lease)
	if err != nil {
		return err
	}
	e := l.Election(pod)
	ctx, stop := tree.UntilSignalled()
	defer stop()
	log.Printf("%s waits for lease %s of namespace %s", pod, o.Lease, namespace)
	if e.Win(ctx) != nil {
		return nil // told to end
	}
	log.Printf("%s holds the lease", pod)
	holding, letGo := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := e.Hold(holding); err != nil {
			log.Printf("%v: this keeper ends, its agents run on", err)
			os.Exit(fault.ExitCode(err))
		}
	})
	err = keepFrom(holding, &parts, o, ctx, func() error { return keep(ctx, keeper.DerivedID("lease", namespace, o.Lease)) })
	letGo()
	parts.Wait()
	return release(e, err)
}

// keepFrom is keep, with the workspace's files brought from where they are.
func keepFrom(ctx context.Context, parts *sync.WaitGroup, o Options, told context.Context, keep func() error) error {
	if o.From != "" {
		m := mirror{from: o.From, to: filepath.Dir(o.File)}
		if err := m.copy(); err != nil {
			return err
		}
		parts.Go(func() { m.follow(ctx) })
	}
	if err := awaitLock(o.File, told); err != nil || told.Err() != nil {
		return err
	}
	return keep()
}

// lockPause is how often it is looked whether the lock is free.
const lockPause = 500 * time.Millisecond

// awaitLock waits until no other keeper has the workspace's files: one that lost
// the lease while it was frozen still does, until it knows.
func awaitLock(file string, told context.Context) error {
	p, err := keeper.At(file)
	if err == nil {
		err = p.Make()
	}
	if err != nil {
		return err
	}
	for said := false; ; said = true {
		lock, err := p.Lock()
		if err == nil {
			return lock.Close()
		}
		if fault.KindOf(err) != fault.Busy {
			return err
		}
		if !said {
			log.Printf("%v, which does not hold the lease: this one waits for its end", err)
		}
		if poll.Pause(told, lockPause) != nil {
			return nil
		}
	}
}

// release lets the next keeper begin at once.
func release(e *lease.Election, ended error) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseLimit)
	defer cancel()
	if err := e.Release(ctx); err != nil {
		log.Print(fmt.Errorf("let go of the lease: %w; the next keeper waits until it has run out", err))
	}
	return ended
}

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
