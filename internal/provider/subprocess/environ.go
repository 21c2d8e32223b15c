package subprocess

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/fault"
	"den/internal/provider"
	"den/internal/session"
)

// inherited are the variables that a command has from whoever starts it: what
// programs need to find their way on this machine, and nothing that would
// make one start differ from the next.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"DEN_RUN_DIR",
}

// environment is a command's whole environment. The mark is what finds its
// processes when their shim was killed; a session of den that is started
// inside has a mark of its own.
func environment(outer []string, own map[string]string, id string) []string {
	vars := map[string]string{}
	for _, kv := range outer {
		k, v, _ := strings.Cut(kv, "=")
		if slices.Contains(inherited, k) || strings.HasPrefix(k, "LC_") {
			vars[k] = v
		}
	}
	maps.Copy(vars, own)
	delete(vars, session.HostMark) // it would hide the command from Stop
	vars[session.ProgramMark] = id
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
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return fault.Errorf(fault.Usage, "start session '%s': %.40q cannot be a variable, or its value has a zero byte", name, k)
		}
	}
	return nil
}
