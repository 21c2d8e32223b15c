package instance

import (
	"path/filepath"
	"time"

	"den/internal/ticks/datarepo"
	"den/internal/ticks/registry"
	"den/internal/ticks/wake"
)

// Instance is an open one.
type Instance struct {
	Name   string
	Remote string // that the repository was cloned from, or ""
	Dir    Dir
	Repo   *datarepo.Repo
	Wakes  *wake.Store
}

// Open opens an instance that is registered. Its caller closes it.
func Open(known registry.Instance, getenv func(string) string) (*Instance, error) {
	dir, err := At(known.Path, getenv)
	if err == nil {
		err = dir.Make()
	}
	if err != nil {
		return nil, err
	}
	repo, err := datarepo.Open(known.Path, dir.Path)
	if err != nil {
		return nil, err
	}
	wakes := wake.New(repo, filepath.Join(dir.Path, "wakes.json"), time.Local)
	return &Instance{Name: known.Name, Remote: known.Remote, Dir: dir, Repo: repo, Wakes: wakes}, nil
}

// Close releases what is open.
func (i *Instance) Close() error { return i.Repo.Close() }
