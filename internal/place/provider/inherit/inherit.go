// Package inherit selects the environment variables that a session inherits.
package inherit

import (
	"slices"
	"strings"
)

// kept is what programs need to find themselves and the world. All else would
// make a session depend on who started it, and would hand on what was not
// meant for it: keys of models and passwords among it.
var kept = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"DEN_RUN_DIR", // where a den inside looks for the hosts' sockets
}

// Environ returns those of the variables that a session has too, in their
// order.
func Environ(environ []string) []string {
	var env []string
	for _, kv := range environ {
		if k, _, ok := strings.Cut(kv, "="); ok && (slices.Contains(kept, k) || strings.HasPrefix(k, "LC_")) {
			env = append(env, kv)
		}
	}
	return env
}

// Vars is Environ by names.
func Vars(environ []string) map[string]string {
	vars := map[string]string{}
	for _, kv := range Environ(environ) {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	return vars
}

// Valid reports whether the system can hand on such a variable.
func Valid(key, value string) bool {
	return key != "" && !strings.ContainsAny(key, "=\x00") && !strings.Contains(value, "\x00")
}
