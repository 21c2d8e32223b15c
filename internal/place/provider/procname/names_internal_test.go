package procname

import (
	"strings"
	"testing"
)

func TestAliases(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/bin/node --flag /opt/claude/cli.js arg": "node cli.js cli",
		"node --inspect /opt/agent.js":                "node agent.js agent",
		"/usr/bin/claude --flag":                      "claude",
		"/usr/bin/python3.12 -u ./agent.py -x":        "python3.12 agent.py agent",
		"python3 -m aider --yes":                      "python3 aider aider",
		"bun run agent.ts":                            "bun agent.ts agent",
		"bun run /home/x/agent":                       "bun agent agent",
		"/bin/sh /usr/local/bin/gemini --quick":       "sh gemini gemini",
		"bash --rcfile /home/x/den.bash":              "bash",
		"bash --rcfile rc -o vi ./setup.sh -x":        "bash setup.sh setup",
		"python3 -W ignore -X dev agent.py":           "python3 agent.py agent",
		"-bash":                                       "bash",
		"-zsh":                                        "zsh",
		"bash -c codex":                               "bash",
		"/usr/bin/vim file":                           "vim",
		"sleep 1000":                                  "sleep",
		"":                                            "",
	} {
		if got := strings.Join(aliases(strings.Fields(line)), " "); got != want {
			t.Errorf("aliases(%s) = %s, want %s", line, got, want)
		}
	}
}

func TestBears(t *testing.T) {
	for _, c := range []struct {
		comm, argv, name string
		want             bool
	}{
		{"node", "node /usr/bin/claude --x", "claude", true},
		{"sh", "sh -c claude", "claude", false},
		{"vim", "vim claude", "claude", false},
		{"MainThread", "/x/claude", "claude", true},
		{"a-very-long-nam", "/x/other", "a-very-long-name-indeed", true},
		{"w-1", "", "w-10", false},
		{"node", "node", "", false},
	} {
		if got := Bears(c.comm, strings.Fields(c.argv), []string{c.name}); got != c.want {
			t.Errorf("Bears(%q, %q, %q) = %v", c.comm, c.argv, c.name, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ comm, argv, want string }{
		{"python3", "/usr/bin/python3 ./agent.py", "agent.py agent python3"},
		{"bash", "-bash", "bash"},
		{"MainThread", "python3 -m aider", "aider python3 MainThread"},
		{"vim", "/usr/bin/vim file", "vim"},
		{"kworker", "", "kworker"},
		{"", "", ""},
	} {
		if got := strings.Join(Names(c.comm, strings.Fields(c.argv)), " "); got != c.want {
			t.Errorf("Names(%q, %q) = %s, want %s", c.comm, c.argv, got, c.want)
		}
	}
}
