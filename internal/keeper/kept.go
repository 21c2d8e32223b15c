package keeper

import (
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/filelock"
)

// Kept lists the workspaces of this user that have a keeper now, in all Homes.
// What cannot be read is left out: it has no keeper that could be asked.
func Kept(c Caller) []StateDir {
	var all []StateDir
	for _, root := range c.homes() {
		files, err := filepath.Glob(filepath.Join(root, "workspaces", "*", identityFile))
		if err != nil {
			continue // a Home whose path looks like a pattern
		}
		for _, file := range files {
			var r Registration
			if readJSON(file, &r) != nil || !filepath.IsAbs(r.StateDir) {
				continue
			}
			if s, ok := keptAt(r.StateDir); ok && !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// keptAt returns the workspace of a state directory, if it has a keeper now.
func keptAt(path string) (StateDir, bool) {
	s := StateDir{Path: path}
	if held, err := filelock.Held(s.lock()); err != nil || !held {
		return s, false
	}
	r, err := s.Load()
	if err != nil || r.File == "" || r.File != filepath.Base(r.File) {
		return s, false // of an older den: its file is not known
	}
	end := strings.LastIndex(path+"/", "/.den/")
	if end < 0 {
		return s, false
	}
	s.Config = filepath.Join(path[:end], r.File)
	at, err := At(s.Config)
	return s, err == nil && at.Path == path
}
