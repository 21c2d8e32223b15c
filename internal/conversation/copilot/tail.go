package copilot

import (
	"bytes"
	"io"
	"os"

	"den/internal/fault"
)

// tail reads a file that grows, from where it was left.
type tail struct {
	path   string
	offset int64
	model  model
}

// maxRead bounds one read; the rest is read the next time.
const maxRead = 64 << 20

// update applies the lines that were added. One that is not whole yet is left
// for the next time.
func (t *tail) update() error {
	f, err := os.Open(t.path)
	if err != nil {
		return fault.Errorf(fault.Storage, "read Copilot's events: %w", err)
	}
	defer f.Close() // Best effort: it was only read.
	if fi, err := f.Stat(); err == nil && fi.Size() < t.offset {
		t.offset, t.model = 0, model{} // it was written anew
	}
	data, err := io.ReadAll(io.NewSectionReader(f, t.offset, maxRead))
	if err != nil {
		return fault.Errorf(fault.Storage, "read Copilot's events: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		e, err := parseEvent(line)
		if err != nil {
			continue // one line that cannot be read does not hide the others
		}
		t.model.apply(e)
	}
	t.offset += int64(whole)
	return nil
}
