// Package atomicfile writes whole files so that a reader sees the old or the
// new content, never a part, and reads them without being blocked by a pipe or
// filled by a huge file in their place.
package atomicfile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write puts data into path with mode 0600: a temporary file beside it,
// synced, then renamed over it. It is there after a loss of power.
func Write(path string, data []byte) error { return write(path, data, true) }

// Replace is Write without the wait for the disk: for what survives a crash of
// programs, and is worth nothing after one of the machine.
func Replace(path string, data []byte) error { return write(path, data, false) }

func write(path string, data []byte, sync bool) error {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+base+".tmp-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := fill(f, data, sync); err != nil {
		os.Remove(f.Name()) // Best effort: the write has failed already.
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		os.Remove(f.Name()) // Best effort.
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ReplaceIn is Replace for a file below root. A symbolic link never leads out
// of root, whoever can write there.
func ReplaceIn(root *os.Root, path string, data []byte) error {
	return replaceIn(root, path, 0o600, func(f *os.File) error { return fill(f, data, false) })
}

// WriteIn is Write for a file below root. A file that is replaced keeps its
// permissions; a new one has perm less the umask. If ready is not nil, it is
// called when the new content is on the disk, immediately before it takes the
// place of the old one; its error keeps the old.
func WriteIn(root *os.Root, path string, data []byte, perm os.FileMode, ready func() error) error {
	return replaceIn(root, path, perm, func(f *os.File) error {
		if old, err := root.Lstat(path); err == nil && old.Mode().IsRegular() {
			if err := f.Chmod(old.Mode().Perm()); err != nil {
				f.Close() // Best effort: the write has failed already.
				return err
			}
		}
		if err := fill(f, data, true); err != nil || ready == nil {
			return err
		}
		return ready()
	})
}

// replaceIn makes a temporary file, has it filled and closed, and renames it to
// path.
func replaceIn(root *os.Root, path string, perm os.FileMode, fill func(*os.File) error) error {
	dir, base := filepath.Split(path)
	tmp := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%016x", base, rand.Uint64())) // as hard to guess as those of os.CreateTemp
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = fill(f); err == nil {
		err = root.Rename(tmp, path)
	}
	if err != nil {
		root.Remove(tmp) // Best effort: the write has failed already.
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func fill(f *os.File, data []byte, sync bool) error {
	_, err := f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// WriteJSON is Write of v's JSON, indented for people.
func WriteJSON(path string, v any) error { return writeJSON(path, v, true) }

// ReplaceJSON is Replace of v's JSON, indented for people.
func ReplaceJSON(path string, v any) error { return writeJSON(path, v, false) }

func writeJSON(path string, v any, sync bool) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return write(path, append(data, '\n'), sync)
}
