package podhost

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ownFiles are those of a session's directory that mean nothing elsewhere.
var ownFiles = []string{"session.json", "lock", "s", "boot"}

// addTree adds the files of a session's directory. A file that is written
// meanwhile is cut where it was when its turn came.
func addTree(out *tar.Writer, dir string, skipLog bool) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() && rel == "log" && skipLog {
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() || slices.Contains(ownFiles, rel) {
			return nil
		}
		return addFile(out, path, rel)
	})
}

func addFile(out *tar.Writer, path, rel string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // Best effort: it was only read.
	fi, err := file.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: rel, Mode: int64(fi.Mode().Perm()), Size: fi.Size(), ModTime: fi.ModTime(), Typeflag: tar.TypeReg}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(out, file, fi.Size())
	return err
}
