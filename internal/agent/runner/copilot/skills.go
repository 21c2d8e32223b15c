package copilot

import (
	"os"
	"path/filepath"

	"den/internal/agent/runner"
)

// skillDirs are the directories of skills that there are, the user's and the
// project's. The CLI's other modes find them; to its server they must be told.
func (d Driver) skillDirs(o runner.Options) []string {
	get := d.environment(o)
	home := get("HOME")
	own := get("COPILOT_HOME")
	if own == "" && home != "" {
		own = filepath.Join(home, ".copilot")
	}
	var dirs []string
	for _, place := range []struct{ in, below string }{
		{own, "skills"}, {home, ".agents/skills"}, {o.Dir, ".copilot/skills"}, {o.Dir, ".agents/skills"},
	} {
		dir := filepath.Join(place.in, place.below)
		if info, err := os.Stat(dir); place.in != "" && err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
