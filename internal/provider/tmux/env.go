package tmux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/provider"
)

// kept are the variables of this process that a session has too: what programs
// need to find themselves and the world. All else would make a session depend
// on who started it, and would hand on what was not meant for it.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"DEN_RUN_DIR",
}

// defaultPath is where a command without a PATH is looked for.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// inherited is what a session has of this process's environment.
func inherited(environ []string) map[string]string {
	env := map[string]string{"PATH": defaultPath}
	for _, kv := range environ {
		if k, v, _ := strings.Cut(kv, "="); slices.Contains(kept, k) || strings.HasPrefix(k, "LC_") {
			env[k] = v
		}
	}
	return env
}

// serverEnv is the server's environment. Sessions get it too, so it is no more
// than what is the same whoever starts the server.
func serverEnv(environ []string) []string {
	var env []string
	for _, k := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"} {
		if v, ok := inherited(environ)[k]; ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// sessionEnv is what a session's command gets on top of the server's.
func sessionEnv(environ []string, c provider.Config) map[string]string {
	env := inherited(environ)
	env["COLORTERM"] = "truecolor"
	env["PWD"] = c.WorkDir
	for k, v := range c.Env {
		env[k] = v
	}
	return env
}

// validVariable reports whether the system can hand on such a variable.
func validVariable(key, value string) bool {
	return key != "" && !strings.ContainsAny(key, "=\x00") && !strings.Contains(value, "\x00")
}

// defaultTerminal is the best description of tmux's terminal that programs
// will find here.
func defaultTerminal() string {
	for _, term := range []string{"tmux-256color", "screen-256color"} {
		for _, dir := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo"} {
			if _, err := os.Stat(filepath.Join(dir, term[:1], term)); err == nil {
				return term
			}
		}
	}
	return "screen"
}
