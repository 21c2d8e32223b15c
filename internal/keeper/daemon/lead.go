package daemon

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"den/internal/base/environment"
	"den/internal/base/fault"
	"den/internal/keeper"
	"den/internal/place/lease"
	"den/internal/place/provider/kubernetes"
	"den/internal/process/supervise"
)

// envPod has the name of the pod that a keeper in a cluster runs in.
const envPod = "DEN_POD"

// releaseLimit bounds how long a keeper that ends may take to let go of its lease.
const releaseLimit = 5 * time.Second

// lead keeps the workspace while this process holds the lease. The pods of one
// Deployment so have one keeper, also when one of them is cut off. A keeper that
// does not hold the lease any more ends this very moment, whatever it is about to
// do: files are whole at every moment, agents run on, and the next keeper finds
// them.
func lead(o options, environ []string, stdout io.Writer) error {
	getenv := environment.Getter(environ)
	pod := getenv(envPod)
	if pod == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "a keeper with a lease needs the name of its pod"), "set %s from metadata.name", envPod)
	}
	config, namespace, err := kubernetes.Config(kubernetes.Cluster{}, getenv)
	if err != nil {
		return err
	}
	l, err := lease.Open(config, namespace, o.lease)
	if err != nil {
		return err
	}
	e := l.Election(pod)
	ctx, stop := supervise.UntilSignalled()
	defer stop()
	log.Printf("%s waits for lease %s of namespace %s", pod, o.lease, namespace)
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
	o.told, o.id = ctx, keeper.DerivedID("lease", namespace, o.lease)
	err = keepFrom(holding, &parts, o, environ, stdout)
	letGo()
	parts.Wait()
	return release(e, err)
}

// keepFrom is run, with the workspace's files brought from where they are.
func keepFrom(ctx context.Context, parts *sync.WaitGroup, o options, environ []string, stdout io.Writer) error {
	if o.from != "" {
		m := mirror{from: o.from, to: filepath.Dir(o.file)}
		if err := m.copy(); err != nil {
			return err
		}
		parts.Go(func() { m.follow(ctx) })
	}
	if err := awaitLock(o); err != nil || o.told.Err() != nil {
		return err
	}
	return run(o, environ, stdout)
}

// lockPause is how often it is looked whether the lock is free.
const lockPause = 500 * time.Millisecond

// awaitLock waits until no other keeper has the workspace's files: one that lost
// the lease while it was frozen still does, until it knows.
func awaitLock(o options) error {
	p, err := keeper.At(o.file)
	if err == nil {
		err = p.Make()
	}
	if err != nil {
		return err
	}
	for told := false; ; told = true {
		lock, err := p.Lock()
		if err == nil {
			return lock.Close()
		}
		if fault.KindOf(err) != fault.Busy {
			return err
		}
		if !told {
			log.Printf("%v, which does not hold the lease: this one waits for its end", err)
		}
		select {
		case <-time.After(lockPause):
		case <-o.told.Done():
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
