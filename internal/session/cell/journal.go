package cell

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// maxJournal is the size at which a journal is rewritten.
const maxJournal = 1 << 20

// Journal stores the record of one cell. Each change appends a line with the
// whole record, and the last complete line counts. Appending costs a fiftieth
// of replacing a file, and after a crash the previous line is still there.
type Journal struct {
	path string
	file *os.File
	size int64
	torn bool // the last line may lack its end
}

// newJournal creates the journal of a new cell. With an error it returns a
// journal that tries again with every Save.
func newJournal(path string, r Record) (*Journal, error) {
	j := &Journal{path: path}
	if err := j.open(os.O_CREATE | os.O_EXCL); err != nil {
		return j, err
	}
	return j, j.Save(r)
}

func (j *Journal) open(flags int) error {
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|flags, 0o600)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	j.file = f
	return nil
}

// Save makes r the record.
func (j *Journal) Save(r Record) error {
	if j.file == nil {
		if err := j.open(os.O_CREATE); err != nil {
			return err
		}
	}
	r.V = recordVersion
	line, err := json.Marshal(r)
	if err != nil {
		return fault.Errorf(fault.Internal, "keep cell '%s': %w", r.CellID, err)
	}
	line = append(line, '\n')
	if j.size > 0 && j.size+int64(len(line)) > maxJournal {
		return j.beginAnew(line)
	}
	if j.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := j.file.Write(line)
	j.size += int64(n)
	if j.torn = err != nil; err != nil {
		return fault.Errorf(fault.KindOf(err), "keep cell '%s': %w", r.CellID, err)
	}
	return nil
}

// beginAnew leaves only the newest line.
func (j *Journal) beginAnew(line []byte) error {
	if err := atomicfile.Replace(j.path, line); err != nil {
		return fault.Errorf(fault.KindOf(err), "keep a cell: %w", err)
	}
	old := j.file
	if err := j.open(0); err != nil {
		return err
	}
	j.size, j.torn = int64(len(line)), false
	return old.Close()
}

// Remove closes the journal of a cell that is refused, and removes the file that
// it made.
func (j *Journal) Remove() error {
	if j.file == nil {
		return nil
	}
	return errors.Join(j.file.Close(), os.Remove(j.path))
}

// Close closes the journal. Its file stays.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// maxJournalRead bounds a journal that is read: it is rewritten above 1 MiB, but
// one record may be longer.
const maxJournalRead = 64 << 20

// readLast calls take with the lines of a file, last line first, until take
// returns true. It reports whether it did. A missing file is an error.
func readLast(path string, take func(line []byte) bool) (bool, error) {
	raw, err := atomicfile.Read(path, maxJournalRead)
	if err != nil {
		return false, err
	}
	end := bytes.LastIndexByte(raw, '\n') // what comes after is not whole yet
	for end >= 0 {
		begin := bytes.LastIndexByte(raw[:end], '\n')
		if take(raw[begin+1 : end]) {
			return true, nil
		}
		end = begin
	}
	return false, nil
}

// appendID appends an id to a file. The file is rewritten before it exceeds
// max bytes.
func appendID(path, id string, max int64) error {
	if fi, err := os.Stat(path); err == nil && fi.Size() > max {
		return atomicfile.Replace(path, []byte(id+"\n"))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + id + "\n") // the line before may lack its end
	return errors.Join(err, f.Close())
}
