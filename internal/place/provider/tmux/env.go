package tmux

import (
	"os"
	"path/filepath"

	"den/internal/place/provider"
	"den/internal/place/provider/inherit"
)

// defaultPath is where a command without a PATH is looked for.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// inherited is what a session has of this process's environment.
func inherited(environ []string) map[string]string {
	env := inherit.Vars(environ)
	if _, ok := env["PATH"]; !ok {
		env["PATH"] = defaultPath
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
