package ipc_test

import (
	"strings"
	"testing"

	"den/internal/agent/harness/ipc"
)

// Where a harness is found, by its nick and by the environment that it gives
// its agent.
func TestFind(t *testing.T) {
	type vars = map[string]string
	for name, row := range map[string]struct {
		nick string
		vars vars
		want string // or what the error says
	}{
		"runtime directory":               {"fox", vars{"XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/me"}, "/run/user/1/culture-fox.sock"},
		"no runtime directory":            {"fox", vars{"HOME": "/home/me"}, "/home/me/.culture/run/culture-fox.sock"},
		"empty runtime directory":         {"fox", vars{"XDG_RUNTIME_DIR": "", "HOME": "/home/me"}, "/home/me/.culture/run/culture-fox.sock"},
		"relative runtime directory":      {"fox", vars{"XDG_RUNTIME_DIR": "run", "HOME": "/home/me"}, "/home/me/.culture/run/culture-fox.sock"},
		"neither":                         {"fox", vars{}, "neither XDG_RUNTIME_DIR nor HOME is set"},
		"relative home":                   {"fox", vars{"HOME": "me"}, "neither XDG_RUNTIME_DIR nor HOME is set"},
		"no nick":                         {"", vars{"HOME": "/home/me"}, "no agent is named"},
		"a nick that is a path":           {"../fox", vars{"HOME": "/home/me"}, "nick"},
		"the agent's own":                 {"", vars{"DEN_NICK": "fox", "XDG_RUNTIME_DIR": "/run/user/1"}, "/run/user/1/culture-fox.sock"},
		"by the specification's name":     {"", vars{"CULTURE_NICK": "fox", "HOME": "/home/me"}, "/home/me/.culture/run/culture-fox.sock"},
		"den's name first":                {"", vars{"DEN_NICK": "owl", "CULTURE_NICK": "fox", "HOME": "/home/me"}, "/home/me/.culture/run/culture-owl.sock"},
		"the agent's own socket":          {"", vars{"DEN_NICK": "fox", "DEN_HARNESS": "/s", "HOME": "/home/me"}, "/s"},
		"the agent's own socket, by nick": {"fox", vars{"DEN_NICK": "fox", "DEN_HARNESS": "/s", "HOME": "/home/me"}, "/s"},
		"another agent":                   {"owl", vars{"DEN_NICK": "fox", "DEN_HARNESS": "/s", "HOME": "/home/me"}, "/home/me/.culture/run/culture-owl.sock"},
	} {
		got, err := ipc.Find(row.nick, func(key string) string { return row.vars[key] })
		if err != nil {
			got = err.Error()
		}
		if got != row.want && (err == nil || !strings.Contains(got, row.want)) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}
