package subprocess

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/place/provider/inherit"
	"den/internal/session/home"
)

// environment is a command's whole environment. The mark is what finds its
// processes when their shim was killed; a session of den that is started
// inside has a mark of its own.
func environment(outer []string, own map[string]string, id, mark string) []string {
	vars := inherit.Vars(outer)
	maps.Copy(vars, own)
	delete(vars, home.HostMark) // it would hide the command from Stop
	vars[home.ProgramMark], vars[home.SessionMark] = id, mark
	env := make([]string, 0, len(vars))
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, k+"="+vars[k])
	}
	return env
}

// checkConfig refuses what no command can be started with.
func checkConfig(name string, c provider.Config) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return fault.Hintf(fault.Errorf(fault.Usage, "start session '%s': no command is given", name), "give a program and its arguments")
	}
	if !filepath.IsAbs(c.WorkDir) {
		return fault.Errorf(fault.Usage, "start session '%s': working directory %q is not absolute", name, c.WorkDir)
	}
	for _, s := range append(slices.Clone(c.Argv), c.WorkDir) {
		if strings.Contains(s, "\x00") {
			return fault.Errorf(fault.Usage, "start session '%s': %.40q holds a zero byte", name, s)
		}
	}
	for k, v := range c.Env {
		if !inherit.Valid(k, v) {
			return fault.Errorf(fault.Usage, "start session '%s': %.40q cannot be a variable, or its value has a zero byte", name, k)
		}
	}
	return nil
}
