package terminal

import (
	"strings"
	"testing"

	"den/internal/session/wire"
)

// program makes a process: "PID PARENT ARGV…"; its command name is its program's.
func program(pid, parent int, argv ...string) wire.Program {
	name := argv[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return wire.Program{PID: pid, Parent: parent, Started: pid, Name: name, Argv: argv}
}

func foreground(own, group, reader int, programs ...wire.Program) wire.Foreground {
	return wire.Foreground{PID: own, Group: group, Reader: reader, Programs: programs}
}

func TestExpected(t *testing.T) {
	prompt := foreground(1, 1, 1, program(1, 0, "bash", "--rcfile", "/x/den.bash"))
	vim := foreground(1, 2, 2, program(2, 1, "/usr/bin/vim", "notes.md"))
	script := foreground(1, 2, 2, program(2, 1, "python3", "./ask.py", "-v"))
	pipe := foreground(1, 2, 3, program(2, 1, "git", "log"), program(3, 2, "less"))
	build := foreground(1, 2, 0, program(2, 1, "make"), program(3, 2, "cc", "a.c"))
	wrapped := foreground(1, 1, 0, program(1, 0, "bash", "-c", "make; echo done"), program(2, 1, "make"))
	server := foreground(1, 1, 0, program(1, 0, "node", "server.js"))
	for _, c := range []struct {
		name    string
		f       wire.Foreground
		command string
		hold    bool
		current string
		yes, no string // names that are expected, and that are not, by "|"
	}{
		{"a shell at its prompt", prompt, "bash", false, "bash", "bash|BASH|bash --rcfile /x/den.bash", "den.bash|sh|vim|"},
		{"an editor", vim, "bash", false, "vim", "vim|Vim|vim notes.md", "bash|notes.md|vi"},
		{"a script", script, "bash", false, "ask.py", "ask.py|ask|python3|python3 ./ask.py -v", "bash|python|ask.p"},
		{"who reads the terminal counts", pipe, "bash", false, "less", "less", "git|bash"},
		{"who works counts", build, "bash", false, "make", "make|cc", "bash"},
		{"a shell that runs something does not", wrapped, "make; echo done", false, "make", "make|make; echo done", "bash"},
		{"the command that it was opened with", server, "npm run dev", false, "server.js", "npm run dev|npm|node|server.js", "bash|run"},
		{"not while something else is there", vim, "bash", false, "vim", "", "bash"},
		{"not after a shell followed it", prompt, "htop", true, "bash", "bash", "htop"},
		{"nothing is known", wire.Foreground{}, "bash", false, "", "bash|Bash", "vim"},
		{"nothing is known, and no command", wire.Foreground{}, "", false, "", "bash", "vim"},
	} {
		if got := currentProgram(c.f); got != c.current {
			t.Errorf("%s: %q is running, want %q", c.name, got, c.current)
		}
		accepts := func(name string) bool {
			p, own := expected(name, c.command, c.hold, c.f)
			return p != nil || own
		}
		for _, name := range strings.Split(c.yes, "|") {
			if name != "" && !accepts(name) {
				t.Errorf("%s: %q is not expected", c.name, name)
			}
		}
		for _, name := range strings.Split(c.no, "|") {
			if accepts(name) {
				t.Errorf("%s: %q is expected", c.name, name)
			}
		}
	}
}

func TestArgv(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, "bash"},
		{Spec{Command: " "}, "bash"},
		{Spec{Command: "bash", Hold: true}, "bash"},
		{Spec{Command: "/bin/zsh"}, "/bin/zsh"},
		{Spec{Command: "vim 'a b'"}, "bash|-c|vim 'a b'"},
		{Spec{Command: "htop", Hold: true}, "bash|-c|" + held + "|bash|htop"},
	} {
		if got := strings.Join(Argv("bash", c.spec), "|"); got != c.want {
			t.Errorf("Argv(%+v) = %s", c.spec, got)
		}
	}
}
