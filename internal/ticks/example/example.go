// Package example writes data repositories to begin with: an empty one for a
// model, and one whose mind is a script, which runs a whole tick without a model.
package example

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"den/internal/base/fault"
)

//go:embed all:files
var files embed.FS

// Kind is what a repository is for.
type Kind string

// The kinds.
const (
	Model  Kind = "model"  // a model thinks
	Script Kind = "script" // a script does: no account is needed
)

// Write makes a repository in a directory that is missing or empty.
func Write(dir string, kind Kind) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.Errorf(fault.KindOf(err), "make the data repository: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return fault.Errorf(fault.KindOf(err), "make the data repository: %w", err)
	}
	if len(there) > 0 {
		return fault.Hintf(fault.Errorf(fault.Busy, "%s is not empty", dir), "choose another directory with --path, or register it as it is without --example")
	}
	return errors.Join(writeAll(dir, "files/common"), writeAll(dir, "files/"+string(kind)))
}

// writeAll writes the files below a root. Names that begin with dot- begin with
// a dot.
func writeAll(dir, root string) error {
	return fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(name, root+"/")
		to := filepath.Join(dir, filepath.FromSlash(path.Dir(rel)), strings.Replace(path.Base(rel), "dot-", ".", 1))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return fault.Errorf(fault.KindOf(err), "make the data repository: %w", err)
		}
		if err := os.WriteFile(to, data, modeOf(data)); err != nil {
			return fault.Errorf(fault.KindOf(err), "make the data repository: %w", err)
		}
		return nil
	})
}

// modeOf lets scripts be executed.
func modeOf(data []byte) os.FileMode {
	if strings.HasPrefix(string(data), "#!") {
		return 0o755
	}
	return 0o644
}
