// Package earlier has files that earlier builds of den wrote: what they left on
// a disk is read for ever.
package earlier

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata
var files embed.FS

// Files copies the files of the build 85ce216 to a directory of the test's own,
// which it returns. testdata/85ce216/README.md says what is where.
func Files(t testing.TB) string {
	t.Helper()
	from, err := fs.Sub(files, "testdata/85ce216")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	err = fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(dir, name), 0o700)
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
