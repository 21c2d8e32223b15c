package sandbox

import (
	"slices"
	"strings"
)

// common are the variables that every agent gets: what a program needs to find
// its terminal, its language and its network. Others, as the keys of clouds,
// have to be named.
var common = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "TERM", "TERM_*", "TERMINFO", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
	"LANG", "LANGUAGE", "LC_*", "TZ", "EDITOR", "VISUAL", "PAGER", "LESS", "CI", "TMUX_PANE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_TERMINAL_PROMPT",
	"GOFLAGS", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN", "CGO_ENABLED", "NODE_OPTIONS", "VIRTUAL_ENV", "JAVA_HOME",
	"DEN_*",
}

// EnvNames is a variable with the names of others that were set for the agent,
// separated by commas: it gets these, too.
const EnvNames = "DEN_SANDBOX_ENV"

// InsideEnv is a variable that names the agent to whoever runs in its sandbox.
const InsideEnv = "DEN_SANDBOX"

// environ keeps the variables that a policy names. The last of a name wins, as
// in a program.
func (p Policy) environ(all []string) []string {
	kept := map[string]string{}
	var names []string
	given := strings.Split(lookup(all, EnvNames), ",")
	for _, entry := range all {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == EnvNames || !named(name, common) && !named(name, p.Env) && !slices.Contains(given, name) {
			continue
		}
		if _, there := kept[name]; !there {
			names = append(names, name)
		}
		kept[name] = value
	}
	for name, value := range p.own() {
		if _, there := kept[name]; !there {
			names = append(names, name)
		}
		kept[name] = value
	}
	slices.Sort(names)
	env := make([]string, 0, len(names))
	for _, name := range names {
		env = append(env, name+"="+kept[name])
	}
	return env
}

// Chosen are the variables of an environment that names stand for; see
// Policy.Env.
func Chosen(all, names []string) map[string]string {
	chosen := map[string]string{}
	for _, entry := range all {
		if name, value, ok := strings.Cut(entry, "="); ok && named(name, names) {
			chosen[name] = value
		}
	}
	return chosen
}

func named(name string, list []string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		begin, any := strings.CutSuffix(pattern, "*")
		return name == pattern || any && strings.HasPrefix(name, begin)
	})
}

// own are variables that the sandbox sets itself. Where it cannot put its own
// directories in the place of the machine's, it names them.
func (p Policy) own() map[string]string {
	if p.Held.Hides() {
		return map[string]string{"TMPDIR": "/tmp", InsideEnv: p.Agent}
	}
	env := map[string]string{"TMPDIR": p.tmp(), InsideEnv: p.Agent}
	if p.Home != "" {
		env["HOME"] = p.home()
	}
	return env
}
