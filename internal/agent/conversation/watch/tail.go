package watch

import (
	"bytes"
	"io"
	"os"

	"den/internal/base/fault"
)

// maxRead bounds one read of a Tail; the rest is read the next time.
const maxRead = 64 << 20

// A Tail reads the lines of a file that grows, each once.
type Tail struct {
	Path string
	// Offset is where the next read begins. A Tail that begins within a line
	// reads the rest of it as a line.
	Offset int64
}

// TailFrom is a Tail of a file's last bytes.
func TailFrom(path string, last int64) (*Tail, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the end of %s: %w", path, err)
	}
	return &Tail{Path: path, Offset: max(0, fi.Size()-last)}, nil
}

// Read calls each with the lines that were added. One that is not whole yet is
// left for the next time. Where the file was written anew, forget is called
// first, and all of its lines are read.
func (t *Tail) Read(forget func(), each func(line []byte)) error {
	f, err := os.Open(t.Path)
	if err != nil {
		return fault.Errorf(fault.Storage, "read the end of %s: %w", t.Path, err)
	}
	defer f.Close() // Best effort: it was only read.
	if fi, err := f.Stat(); err == nil && fi.Size() < t.Offset {
		t.Offset = 0
		forget()
	}
	data, err := io.ReadAll(io.NewSectionReader(f, t.Offset, maxRead))
	if err != nil {
		return fault.Errorf(fault.Storage, "read the end of %s: %w", t.Path, err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		each(line)
	}
	t.Offset += int64(whole)
	return nil
}
