package terminal

import (
	"path/filepath"
	"slices"
	"strings"

	"den/internal/place/provider/procname"
	"den/internal/session/wire"
)

func namesOf(p wire.Program) []string { return procname.Names(p.Name, p.Argv) }

// commandLine is a process's command line, with its program's name alone.
func commandLine(p wire.Program) string {
	if len(p.Argv) == 0 {
		return p.Name
	}
	argv := slices.Clone(p.Argv)
	argv[0] = filepath.Base(argv[0])
	return strings.Join(argv, " ")
}

// isWrapper reports whether a process is a shell without a script of its own
// that runs another process of the group.
func isWrapper(p wire.Program, all []wire.Program) bool {
	names := namesOf(p)
	return len(names) > 0 && isShell(names[0]) && slices.ContainsFunc(all, func(other wire.Program) bool { return other.Parent == p.PID })
}

// addressed are the processes of the foreground that keystrokes are for: the
// one that waits for the terminal or, where nobody knows, those that work.
func addressed(f wire.Foreground) []wire.Program {
	for _, p := range f.Programs {
		if p.PID == f.Reader {
			return []wire.Program{p}
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Programs), func(p wire.Program) bool { return isWrapper(p, f.Programs) })
}

// currentProgram is the name of what runs in the foreground, or "".
func currentProgram(f wire.Foreground) string {
	all := addressed(f)
	for _, p := range all {
		if p.PID == f.Group {
			all = []wire.Program{p}
		}
	}
	if len(all) == 0 {
		return ""
	}
	if names := namesOf(all[0]); len(names) > 0 {
		return names[0]
	}
	return ""
}

// expected returns the process of the foreground that goes by a name, or nil.
// own reports that the terminal's own command does: its program is in the
// foreground, and no process goes by the name.
func expected(name, command string, hold bool, f wire.Foreground) (p *wire.Program, own bool) {
	for _, p := range addressed(f) {
		if slices.ContainsFunc(append(namesOf(p), commandLine(p)), func(is string) bool { return strings.EqualFold(is, name) }) {
			return &p, false
		}
	}
	if hold || !isCommand(name, command) {
		return nil, false
	}
	for _, p := range f.Programs {
		if p.PID == f.PID {
			return &p, true
		}
	}
	return nil, len(f.Programs) == 0 // nobody knows what runs there
}

// isCommand reports whether a name is that of the command that a terminal was
// opened with: all of it, or its program.
func isCommand(name, command string) bool {
	if command == "" {
		command = "bash"
	}
	program, _, _ := strings.Cut(command, " ")
	return strings.EqualFold(name, command) || strings.EqualFold(name, filepath.Base(program))
}
