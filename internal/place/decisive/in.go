package decisive

import (
	"path/filepath"
	"strings"
)

// In lists the files of a directory that are known by name. Their roles are who
// reads them.
func In(dir string) []File {
	quoted := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
	var all []File
	for _, g := range Groups {
		for _, name := range g.Names {
			found, _ := filepath.Glob(filepath.Join(quoted, name)) // the patterns are constants, and a test parses them
			for _, path := range found {
				all = append(all, File{Path: path, Role: g.Reader})
			}
		}
	}
	return all
}
