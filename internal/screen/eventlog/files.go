package eventlog

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// file is a segment's file as a Writer uses it. Tests substitute failing ones.
type file interface {
	Write(p []byte) (int, error)
	Truncate(size int64) error
	Sync() error
	Stat() (os.FileInfo, error)
	Close() error
}

// files makes segments.
type files interface {
	// create creates a file that must not exist.
	create(path string) (file, error)
	rename(from, to string) error
	remove(path string) error
	syncDir(dir string) error
}

type osFiles struct{}

func (osFiles) create(path string) (file, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (osFiles) rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) remove(path string) error { return os.Remove(path) }

func (osFiles) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil // EINVAL: a file system that does not sync directories
}

const unfinished = ".tmp"

// removeUnfinished removes temporary files of a writer that died while it
// created a segment.
func removeUnfinished(dir string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+suffix+unfinished))
	for _, path := range left {
		os.Remove(path) // Best effort: nobody reads it.
	}
}
