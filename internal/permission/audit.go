package permission

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/atomicfile"
)

const (
	auditFile  = "audit.jsonl"
	auditLimit = 4 << 20 // bytes; then a new file is begun
	auditKept  = 3       // earlier files
)

// Entry is a line of the audit log.
type Entry struct {
	Version  int       `json:"v"`
	Time     time.Time `json:"time"`
	Agent    string    `json:"agent"`
	Event    Event     `json:"event"`
	Outcome  Outcome   `json:"outcome"`
	Request  Request   `json:"request"`
	Approval string    `json:"approval,omitempty"` // its id
	Rule     string    `json:"rule,omitempty"`     // that decided
	By       string    `json:"by,omitempty"`       // the person who decided
	Why      string    `json:"why"`
	Answer   string    `json:"answer,omitempty"` // to a question
}

// Event is what an entry of the audit log is about. The values are stored:
// add, never rename.
type Event string

// The events: a decision by the policy, and the states of approvals.
const (
	ByPolicy Event = "policy"
	Asked    Event = "asked"
)

// auditLog appends to a file. Its owner serializes calls.
type auditLog struct {
	path  string
	limit int64
	torn  bool // the last line may lack its end
}

func openAudit(dir string) *auditLog {
	return &auditLog{path: filepath.Join(dir, auditFile), limit: auditLimit, torn: true}
}

// append writes an entry with one write, so that a crash leaves whole lines,
// or one half line that the next write ends.
func (l *auditLog) append(e Entry) error {
	e.Version = recordVersion
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	f, err := l.open()
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	if l.torn && lacksEnd(f) {
		line = append([]byte("\n"), line...)
	}
	_, err = f.Write(append(line, '\n'))
	l.torn = err != nil
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

// open opens the newest file, a new one if that is full.
func (l *auditLog) open() (*os.File, error) {
	if fi, err := os.Stat(l.path); err == nil && fi.Size() >= l.limit {
		if err := l.rotate(); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

func (l *auditLog) rotate() error {
	for n := auditKept - 1; n >= 1; n-- {
		if err := os.Rename(olderAudit(l.path, n), olderAudit(l.path, n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(l.path, olderAudit(l.path, 1))
}

func olderAudit(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }

// lacksEnd reports that a file's last line has no end.
func lacksEnd(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, fi.Size()-1)
	return err == nil && last[0] != '\n'
}

// ReadAudit returns the entries of the audit log in dir, the oldest first.
// Lines that cannot be read, as a crash may leave one, are skipped and counted.
func ReadAudit(dir string) (entries []Entry, damaged int, err error) {
	for n := auditKept; n >= 0; n-- {
		path := filepath.Join(dir, auditFile)
		if n > 0 {
			path = olderAudit(path, n)
		}
		data, err := atomicfile.Read(path, 2*auditLimit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return entries, damaged, fmt.Errorf("read audit log: %w", err)
		}
		scan := bufio.NewScanner(bytes.NewReader(data))
		scan.Buffer(nil, 2*auditLimit)
		for scan.Scan() {
			var e Entry
			if json.Unmarshal(scan.Bytes(), &e) != nil {
				damaged++
				continue
			}
			entries = append(entries, e)
		}
	}
	return entries, damaged, nil
}
