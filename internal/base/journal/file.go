package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

// File is a file of lines that one process appends to. Its owner serializes
// calls.
type File struct {
	path string
	f    *os.File // or nil: the next Append opens it
	size int64    // of what is whole; valid while it is open
	torn bool     // the last line may lack its end
}

// New returns the file at a path. It is opened by the first Append, and made if
// it is not there.
func New(path string) *File { return &File{path: path, torn: true} }

// Open opens the file. flags are os.O_CREATE if it may be missing, with os.O_EXCL
// if it must be. After an error the next Append tries again.
func (f *File) Open(flags int) error {
	file, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|flags, 0o600)
	if err != nil {
		return err
	}
	if flags&os.O_EXCL != 0 {
		f.f, f.size, f.torn = file, 0, false
		return nil
	}
	fi, err := file.Stat()
	if err != nil {
		file.Close() // Best effort: nothing was written.
		return err
	}
	f.f, f.size = file, fi.Size()
	f.torn = f.torn && lacksEnd(file, f.size)
	return nil
}

// lacksEnd reports that a file's last line has no end.
func lacksEnd(f *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err := f.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

// Size is that of the file while it is open, else 0.
func (f *File) Size() int64 { return f.size }

// Append writes a line, which has no end yet, by one write, and may use the room
// behind it. What a full disk takes of it is taken back.
func (f *File) Append(line []byte) error {
	if f.f == nil {
		if err := f.Open(os.O_CREATE); err != nil {
			return err
		}
	}
	if f.torn {
		_ = f.Cut(f.size) // Best effort: what was not taken back after an error.
	}
	if f.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := f.f.Write(append(line, '\n'))
	if err != nil {
		f.torn = true
		_ = f.Cut(f.size) // Best effort: the next Append tries again.
		return err
	}
	f.size += int64(n)
	f.torn = false
	return nil
}

// Cut drops what is behind a size: half a line, or what makes no sense.
func (f *File) Cut(size int64) error {
	if err := f.f.Truncate(size); err != nil {
		return err
	}
	f.size, f.torn = size, lacksEnd(f.f, size)
	return nil
}

// Rewrite replaces all lines by others, by write, atomicfile's Write or Replace:
// those that still count.
func (f *File) Rewrite(lines []byte, write func(path string, data []byte) error) error {
	if err := write(f.path, lines); err != nil {
		return err
	}
	old := f.f
	err := f.Open(0)
	if old != nil && err == nil {
		old.Close() // Best effort: it is replaced.
	}
	return err
}

// Rotate renames the file to FILE.1, that one to FILE.2 and so on; the last one
// is removed. The next Append begins a new file. After an error the old one goes
// on.
func (f *File) Rotate(kept int) error {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return f.Close() // it makes no room
	}
	for n := kept; n >= 1; n-- {
		if err := os.Rename(older(f.path, n-1), older(f.path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.Close()
}

// Remove closes the file and removes it, if it was made.
func (f *File) Remove() error {
	if f.f == nil {
		return nil
	}
	return errors.Join(f.Close(), os.Remove(f.path))
}

// Close closes the file. The next Append opens it again.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f, f.size = nil, 0
	return err
}

// Lines calls each with every whole line of r, without its end, and with the
// offset behind that. A line of more than most bytes is nil. What comes behind
// the last end of a line is left out: it is not whole yet. whole is how many
// bytes were taken.
func Lines(r io.Reader, most int, each func(line []byte, end int64) error) (whole int64, err error) {
	buffered := bufio.NewReaderSize(r, min(most+1, 64<<10))
	var long []byte // the beginning of a line that the buffer does not hold
	skipped := int64(0)
	for {
		part, err := buffered.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(long)+len(part) <= most {
				long = append(long, part...)
			} else {
				skipped += int64(len(long) + len(part))
				long = long[:0]
			}
			continue
		}
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
		line := part
		if len(long) > 0 {
			line = append(long, part...)
			long = line[:0]
		}
		whole += skipped + int64(len(line))
		line = line[:len(line)-1]
		if skipped > 0 || len(line) > most {
			line = nil
		}
		skipped = 0
		if err := each(line, whole); err != nil {
			return whole, err
		}
	}
}

// Last calls take with the whole lines of data, the last one first, until take
// returns true. It reports whether it did.
func Last(data []byte, take func(line []byte) bool) bool {
	end := bytes.LastIndexByte(data, '\n')
	for end >= 0 {
		begin := bytes.LastIndexByte(data[:end], '\n')
		if take(data[begin+1 : end]) {
			return true
		}
		end = begin
	}
	return false
}
