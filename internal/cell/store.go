package cell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"den/internal/atomicfile"
	"den/internal/fault"
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

// Save replaces a cell's record, and says which cell is the last.
func (s Store) Save(r Record) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	r.V = recordVersion
	if err := atomicfile.ReplaceJSON(s.path(r.CellID), r); err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(s.Dir, "last"), []byte(r.CellID))
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
	return r, nil
}
