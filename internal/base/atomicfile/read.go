package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrNotRegular means that a path names no regular file: a pipe would block its
// reader, and a device may never end.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge means that a file has more bytes than its reader takes.
var ErrTooLarge = errors.New("the file is too large")

// Open opens a regular file for reading. It never blocks.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(f, path)
}

// OpenIn is Open for a file below root. A symbolic link never leads out of
// root.
func OpenIn(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(f, path)
}

// regular returns an open file if it is a regular one, and closes it if not.
func regular(f *os.File, path string) (*os.File, error) {
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.Close() // Best effort: nothing was read.
		return nil, err
	}
	return f, nil
}

// Read reads a whole regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // Best effort: it was only read.
	return ReadAll(f, path, limit)
}

// ReadAll reads the rest of an open file, at most limit bytes. path names it in
// errors.
func ReadAll(f *os.File, path string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("read %s: %w: it has more than %d bytes", path, ErrTooLarge, limit)
	}
	return data, err
}
