package cell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/atomicfile"
	"den/internal/fault"
	"den/internal/ident"
)

// recordVersion is that of a cell's record. A newer one is refused.
const recordVersion = 1

// Store keeps the records of a session's cells. Looking one up costs the same
// whatever the log's size.
type Store struct {
	Dir string
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+".json") }

// OutputPath is where a cell's whole output is kept.
func (s Store) OutputPath(id string) string { return filepath.Join(s.Dir, id+".out") }

// Begin writes a new cell's record, and says that it is the last.
func (s Store) Begin(r Record) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	if err := s.Save(r); err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(s.Dir, "last"), []byte(r.CellID))
}

// Save replaces a cell's record.
func (s Store) Save(r Record) error {
	r.V = recordVersion
	return atomicfile.ReplaceJSON(s.path(r.CellID), r)
}

// Load reads a cell's record; an empty id means the last cell.
func (s Store) Load(id string) (Record, error) {
	var r Record
	if id == "" {
		raw, err := os.ReadFile(filepath.Join(s.Dir, "last"))
		if errors.Is(err, fs.ErrNotExist) {
			return r, fault.Hintf(fault.Errorf(fault.NotFound, "no cell was run in this session"), "'den run' runs one")
		}
		if err != nil {
			return r, fault.Errorf(fault.Storage, "find the last cell: %w", err)
		}
		id = string(raw)
	}
	if err := CheckID(id); err != nil {
		return r, err
	}
	raw, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fault.Errorf(fault.NotFound, "no cell '%s'", id)
	}
	if err != nil {
		return r, fault.Errorf(fault.Storage, "read cell '%s': %w", id, err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fault.Errorf(fault.Storage, "read cell '%s': %w", id, err)
	}
	if r.V > recordVersion {
		return r, fault.Errorf(fault.Protocol, "cell '%s' was recorded by a newer den: version %d, this one knows %d", id, r.V, recordVersion)
	}
	if _, err := os.Stat(r.OutputFile); errors.Is(err, fs.ErrNotExist) {
		r.OutputFile = "" // pruned
	}
	return r, nil
}

// Prune forgets the oldest cells so that at most keep are left, and the oldest
// kept outputs so that they take at most size bytes together. The newest cell
// stays whole.
func (s Store) Prune(keep int, size int64) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "forget old cells: %w", err)
	}
	slices.Reverse(entries) // identifiers sort by time: the newest first
	cells, newest := 0, ""
	var errs []error
	for _, e := range entries {
		id, kind, _ := strings.Cut(e.Name(), ".")
		if !ident.IsID(id) || id == newest {
			continue
		}
		switch {
		case newest == "":
			newest = id
			cells++
			continue
		case kind == "json":
			cells++
		case kind == "out":
			if info, err := e.Info(); err == nil {
				size -= info.Size()
			}
		}
		if kind == "json" && cells > keep || kind == "out" && (size < 0 || cells >= keep) {
			errs = append(errs, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
