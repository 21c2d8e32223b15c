package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// A segment is one file of the log.
type segment struct {
	number int
	path   string
	file   *os.File
	size   int64 // of its good records; nothing is after it
}

const (
	segmentPattern = "history-*.jsonl"
	segmentName    = "history-%08d.jsonl"
)

func createSegment(dir string, number int) (*segment, error) {
	path := filepath.Join(dir, fmt.Sprintf(segmentName, number))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, storage("create segment", err)
	}
	s := &segment{number: number, path: path, file: f}
	if _, err = s.append(headerLine); err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		f.Close()       // Best effort: creating it has failed.
		os.Remove(path) // Best effort.
		return nil, err
	}
	return s, nil
}

// append writes a line at the end and returns where it begins. A part of a
// line that did not fit on the disk is taken back.
func (s *segment) append(line []byte) (int64, error) {
	offset := s.size
	if _, err := s.file.WriteAt(line, offset); err != nil {
		s.file.Truncate(offset) // Best effort: the next line is written over it, and reading skips it.
		return 0, storage("write history", err)
	}
	s.size += int64(len(line))
	return offset, nil
}

func (s *segment) read(e entry) (Record, error) {
	line := make([]byte, e.length)
	if _, err := s.file.ReadAt(line, e.offset); err != nil {
		return Record{}, storage("read history", err)
	}
	return decode(line)
}

func (s *segment) close() error {
	if err := s.file.Close(); err != nil {
		return storage("close history", err)
	}
	return nil
}

func (s *segment) remove() error {
	s.file.Close() // Best effort: it is deleted.
	if err := os.Remove(s.path); err != nil {
		return storage("delete old history", err)
	}
	return nil
}

// syncDir makes a new name in a directory survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return storage("sync directory", err)
	}
	defer d.Close() // Best effort: it was only read.
	if err := d.Sync(); err != nil {
		return storage("sync directory", err)
	}
	return nil
}

func storage(doing string, err error) error { return fault.Errorf(fault.Storage, "%s: %w", doing, err) }

// version is of the records and of the header, which names it.
const version = 1

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// maxID is far in the future. A damaged record with a larger one must not use
// up the numbers.
const maxID = 1 << 60

const format = "den-irc-history"

var headerLine = fmt.Appendf(nil, `{"format":%q,"version":%d}`+"\n", format, version)

var headerSize = int64(len(headerLine))

func checkHeader(line []byte) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Format != format {
		return fault.Errorf(fault.Storage, "not a history of chat messages")
	}
	return statefile.Check("the history of chat messages", h.Version, version)
}

func encode(r Record) ([]byte, error) {
	if !utf8.ValidString(r.Text) {
		r.Raw, r.Text = []byte(r.Text), ""
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "encode record: %w", err)
	}
	return append(b, '\n'), nil
}

func decode(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fault.Errorf(fault.Storage, "read record: %w", err)
	}
	if r.ID == 0 || r.ID > maxID || r.Conversation == "" || r.Command == "" {
		return r, fault.Errorf(fault.Storage, "read record: it has no valid id, conversation or command")
	}
	if len(r.Raw) > 0 {
		r.Text, r.Raw = string(r.Raw), nil
	}
	return r, nil
}
