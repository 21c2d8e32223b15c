package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// Record is what is known of a worktree that was made for an agent.
type Record struct {
	V         int       `json:"v"`
	State     string    `json:"state"`
	Agent     string    `json:"agent"`
	Workspace string    `json:"workspace"`
	Session   string    `json:"session"`
	Provider  string    `json:"provider"`
	Path      string    `json:"path"`              // of the tree
	Common    string    `json:"common"`            // the git directory of the repository
	GitDir    string    `json:"git_dir,omitempty"` // of the tree, in Common
	Branch    string    `json:"branch"`
	Base      string    `json:"base"` // a whole reference, or a commit
	Made      time.Time `json:"made"`
}

// The states of a record. They stand in files: add, never rename.
const (
	making = "making" // git may have made a part of it; nobody has worked there
	ready  = "ready"
)

const (
	recordVersion = 1
	recordName    = "worktree.json"
	maxRecord     = 64 << 10
)

// BaseName is the base for people: without what all branches begin with.
func (r Record) BaseName() string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/"} {
		if name, ok := strings.CutPrefix(r.Base, prefix); ok {
			return name
		}
	}
	return r.Base[:min(len(r.Base), 12)]
}

func (r Record) slot() string { return filepath.Dir(r.Path) }

func (r Record) save() error {
	if err := os.MkdirAll(r.slot(), 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the place of a worktree: %w", err)
	}
	if err := statefile.Save(filepath.Join(r.slot(), recordName), recordVersion, r); err != nil {
		return fault.Errorf(fault.KindOf(err), "record a worktree: %w", err)
	}
	return nil
}

// forget removes the record and its slot.
func (r Record) forget() error {
	if err := os.Remove(filepath.Join(r.slot(), recordName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Errorf(fault.KindOf(err), "forget a worktree: %w", err)
	}
	os.Remove(r.slot()) // Best effort: an empty directory harms nobody, and a full one stays.
	return nil
}

// readRecord returns the record of a slot: fault.NotFound for none.
func readRecord(slot string) (Record, error) {
	path := filepath.Join(slot, recordName)
	r, found, err := statefile.Load[Record](path, recordVersion, maxRecord)
	if err != nil {
		return r, fmt.Errorf("read the record of a worktree: %w", err)
	}
	if !found {
		return r, fault.Errorf(fault.NotFound, "no worktree in %s", slot)
	}
	if r.slot() != slot || filepath.Clean(r.Path) != r.Path || r.Agent == "" || r.Branch == "" || !filepath.IsAbs(r.Common) || (r.State != making && r.State != ready) {
		return r, fault.Errorf(fault.Storage, "the record of a worktree %s is damaged, or was moved", path)
	}
	return r, nil
}

// Made returns the record of a place: fault.NotFound where nothing was made.
func Made(p Place) (Record, error) { return readRecord(filepath.Dir(p.Path)) }

// Records returns all records below a root, by agent, and what could not be
// read.
func Records(root string) ([]Record, error) {
	root = resolved(root)
	slots, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindOf(err), "list worktrees: %w", err)
	}
	var all []Record
	var problems []error
	for _, slot := range slots {
		if !slot.IsDir() {
			continue
		}
		r, err := readRecord(filepath.Join(root, slot.Name()))
		switch {
		case err == nil:
			all = append(all, r)
		case fault.KindOf(err) != fault.NotFound:
			problems = append(problems, err)
		}
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.Agent, b.Agent) })
	return all, errors.Join(problems...)
}
