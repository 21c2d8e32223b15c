package cell

import (
	"encoding/json"
	"os"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/journal"
)

// maxJournal is the size at which a journal is rewritten.
const maxJournal = 1 << 20

// Journal stores the record of one cell. Each change appends a line with the
// whole record, and the last complete line counts. Appending costs a fiftieth
// of replacing a file, and after a crash the previous line is still there.
type Journal struct {
	*journal.File
}

// newJournal creates the journal of a new cell. With an error it returns a
// journal that tries again with every Save.
func newJournal(path string, r Record) (*Journal, error) {
	j := &Journal{journal.New(path)}
	if err := j.Open(os.O_CREATE | os.O_EXCL); err != nil {
		return j, fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	return j, j.Save(r)
}

// Save makes r the record.
func (j *Journal) Save(r Record) error {
	r.V = recordVersion
	line, err := json.Marshal(r)
	if err != nil {
		return fault.Errorf(fault.Internal, "keep cell '%s': %w", r.CellID, err)
	}
	if size := j.Size(); size > 0 && size+int64(len(line)) >= maxJournal {
		err = j.Rewrite(append(line, '\n'), atomicfile.Replace) // only the newest line is left
	} else {
		err = j.Append(line)
	}
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	return nil
}

// maxJournalRead bounds a journal that is read: it is rewritten above 1 MiB, but
// one record may be longer.
const maxJournalRead = 64 << 20

// readLast calls take with the lines of a file, last line first, until take
// returns true. It reports whether it did. A missing file is an error.
func readLast(path string, take func(line []byte) bool) (bool, error) {
	raw, err := atomicfile.Read(path, maxJournalRead)
	return journal.Last(raw, take), err
}

// appendID appends an id to a file. The file is rewritten before it exceeds
// max bytes.
func appendID(path, id string, max int64) error {
	f := journal.New(path)
	if err := f.Open(os.O_CREATE); err != nil {
		return err
	}
	defer f.Close() // Best effort: the line was written.
	if f.Size() > max {
		return atomicfile.Replace(path, []byte(id+"\n"))
	}
	return f.Append([]byte(id))
}
