package cell

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/journal"
	"den/internal/base/statefile"
)

// recordVersion is the version of the record format. A newer one is refused.
const recordVersion = 2

// File suffixes of a cell, and the size limit of the file that names the last
// cell.
const (
	journalEnd = ".jsonl"
	outputEnd  = ".out"
	maxLast    = 4 << 10
)

// Store keeps the records of a session's cells. Looking one up costs the same
// whatever the log's size.
type Store struct {
	Dir string
}

func (s Store) path(id string) string { return filepath.Join(s.Dir, id+journalEnd) }

// last returns the path of the file whose last complete line is the id of the
// last cell.
func (s Store) last() string { return filepath.Join(s.Dir, "last") }

// OutputPath returns the path of a cell's whole output.
func (s Store) OutputPath(id string) string { return filepath.Join(s.Dir, id+outputEnd) }

// Begin stores a new cell's record and makes it the last cell. The caller
// closes the journal. With an error something of that could not be written, and
// the journal tries again with every Save.
func (s Store) Begin(r Record) (*Journal, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return &Journal{journal.New(s.path(r.CellID))}, fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	j, err := newJournal(s.path(r.CellID), r)
	return j, errors.Join(err, s.setLast(r.CellID))
}

func (s Store) setLast(id string) error {
	if err := appendID(s.last(), id, maxLast); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", id, err)
	}
	return nil
}

// Reopen opens the journal of a cell that was begun before.
func (s Store) Reopen(id string) (*Journal, error) {
	j := &Journal{journal.New(s.path(id))}
	if err := j.Open(0); err != nil {
		return j, fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	return j, nil
}

// Put stores the record of a cell that is over, which could not be stored when
// it ended.
func (s Store) Put(r Record) error {
	j := &Journal{journal.New(s.path(r.CellID))}
	if err := errors.Join(j.Save(r), j.Close()); err != nil {
		return err
	}
	return s.NotBefore(r.CellID)
}

// NotBefore makes a cell the last one if it is newer than the last one.
func (s Store) NotBefore(id string) error {
	if last, err := s.lastID(); err == nil && last >= id { // identifiers sort by time
		return nil
	}
	return s.setLast(id)
}

// Load reads a cell's record; an empty id means the last cell.
func (s Store) Load(id string) (Record, error) {
	var r Record
	if id == "" {
		var err error
		if id, err = s.lastID(); err != nil {
			return r, err
		}
	}
	if err := CheckID(id); err != nil {
		return r, err
	}
	found, err := readLast(s.path(id), func(line []byte) bool {
		r = Record{}
		return json.Unmarshal(line, &r) == nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fault.Errorf(fault.NotFound, "no cell '%s'", id)
	case err != nil:
		return r, fault.Errorf(fault.Storage, "read cell '%s': %w", id, err)
	case !found:
		return r, fault.Errorf(fault.Storage, "read cell '%s': its record holds nothing", id)
	}
	if err := statefile.Check("the record of cell '"+id+"'", r.V, recordVersion); err != nil {
		return r, err
	}
	r.CellID = id
	s.locateOutput(&r)
	return r, nil
}

// locateOutput sets where the cell's whole output is. The record's own path is
// not used: its Home may have moved, or somebody else may have written it.
func (s Store) locateOutput(r *Record) {
	if r.OutputFile == "" {
		return
	}
	r.OutputFile = s.OutputPath(r.CellID)
	if fi, err := os.Lstat(r.OutputFile); err != nil || !fi.Mode().IsRegular() {
		r.OutputFile = "" // pruned
	}
}

// lastID is the id of the last cell.
func (s Store) lastID() (id string, err error) {
	found, err := readLast(s.last(), func(line []byte) bool {
		id = string(line)
		return ident.IsID(id)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !found:
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no cell was run in this session"), "'den run' runs one")
	case err != nil:
		return "", fault.Errorf(fault.Storage, "find the last cell: %w", err)
	}
	return id, nil
}

// Prune removes the oldest cells beyond keep, and the oldest outputs beyond
// size bytes in total. The newest cell is always kept whole.
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
		kind = "." + kind
		if !ident.IsID(id) || id == newest {
			continue
		}
		switch {
		case newest == "":
			newest = id
			cells++
			continue
		case kind == journalEnd:
			cells++
		case kind == outputEnd:
			if info, err := e.Info(); err == nil {
				size -= info.Size()
			}
		}
		if kind == journalEnd && cells > keep || kind == outputEnd && (size < 0 || cells >= keep) {
			errs = append(errs, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
