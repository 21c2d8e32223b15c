package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/filelock"
)

// Registry is the advisory per-machine index of Homes that have hosted a
// session. The directories are authoritative: a stale or missing entry does no
// harm, and a damaged file counts as empty.
type Registry struct {
	Path string
}

// RegisteredHome is one entry.
type RegisteredHome struct {
	Path     string    `json:"path"`
	LastSeen time.Time `json:"last_seen"`
}

type registryFile struct {
	V     int              `json:"v"`
	Homes []RegisteredHome `json:"homes"`
}

// refresh is the age of an entry's LastSeen from which a new session updates
// the file: accurate enough for people, rare enough for fleets.
const refresh = time.Hour

// NewRegistry returns the registry of this user on this machine.
func NewRegistry(getenv func(string) string) Registry {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		state = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return Registry{Path: filepath.Join(state, "den", "homes.json")}
}

// Homes returns the entries, the newest first.
func (r Registry) Homes() ([]RegisteredHome, error) {
	raw, err := atomicfile.Read(r.Path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read Home registry: %w", err)
	}
	var f registryFile
	if json.Unmarshal(raw, &f) != nil {
		return nil, nil // advisory: the next session's Home is entered anew
	}
	slices.SortStableFunc(f.Homes, func(a, b RegisteredHome) int { return b.LastSeen.Compare(a.LastSeen) })
	return f.Homes, nil
}

// Add adds a Home, or updates its entry.
func (r Registry) Add(home Home, now time.Time) error {
	homes, err := r.Homes()
	if err != nil {
		return err
	}
	for _, h := range homes {
		if h.Path == home.Path && now.Sub(h.LastSeen) < refresh {
			return nil
		}
	}
	return r.edit(func(homes []RegisteredHome) []RegisteredHome {
		homes = slices.DeleteFunc(homes, func(h RegisteredHome) bool { return h.Path == home.Path })
		return append(homes, RegisteredHome{Path: home.Path, LastSeen: now.UTC()})
	})
}

// Remove removes a Home from the registry and reports whether it was there.
// The Home itself is not touched.
func (r Registry) Remove(path string) (bool, error) {
	found := false
	err := r.edit(func(homes []RegisteredHome) []RegisteredHome {
		return slices.DeleteFunc(homes, func(h RegisteredHome) bool {
			found = found || h.Path == path
			return h.Path == path
		})
	})
	return found, err
}

func (r Registry) edit(change func([]RegisteredHome) []RegisteredHome) error {
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		return fmt.Errorf("write Home registry: %w", err)
	}
	lock, err := filelock.Wait(context.Background(), r.Path+".lock")
	if err != nil {
		return fmt.Errorf("write Home registry: %w", err)
	}
	defer lock.Close() // Best effort: nothing was written.
	homes, err := r.Homes()
	if err != nil {
		return err
	}
	return atomicfile.WriteJSON(r.Path, registryFile{V: 1, Homes: change(homes)})
}
