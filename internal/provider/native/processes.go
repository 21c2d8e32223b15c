package native

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/fault"
	"den/internal/pty"
	"den/internal/session"
)

// ProcessAlive looks at the processes below the session's host, as they are
// now. Hosts that were started inside, and what they run, are not the
// session's.
func (p *Provider) ProcessAlive(ctx context.Context, name string, processNames []string) (bool, error) {
	_, m, err := p.find(name)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil || !m.Status.Active() {
		return false, err
	}
	if len(processNames) == 0 {
		return true, nil
	}
	for _, pid := range processesOf(m) {
		comm, argv, err := describe(pid)
		if err != nil {
			return false, err
		}
		if bears(comm, argv, processNames) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// processesOf lists a session's processes. Its host has not ended, for it
// holds its lock, so its number is its own; but where it runs elsewhere it may
// be another's here, and the processes are found by their mark.
func processesOf(m *session.Manifest) []int {
	if pty.HasEnv(m.HostPID, session.HostMark) {
		return below(m.HostPID)
	}
	return pty.Marked(session.ProgramMark + "=" + m.ID)
}

// below lists the processes of a host's session.
func below(host int) []int {
	all := pty.Descendants(host)
	foreign := map[int]bool{}
	for _, pid := range all {
		if pty.HasEnv(pid, session.HostMark) {
			foreign[pid] = true
			for _, d := range pty.Descendants(pid) {
				foreign[d] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(pid int) bool { return foreign[pid] })
}

// maxComm is how much of a program's name the system keeps as its command name.
const maxComm = 15

// bears reports whether a process goes by one of the names.
func bears(comm string, argv []string, names []string) bool {
	is := aliases(argv)
	for _, name := range names {
		if name == "" {
			continue
		}
		if comm == name[:min(len(name), maxComm)] || slices.Contains(is, name) {
			return true
		}
	}
	return false
}

// interpreters run what people call the program. Their versions, as in
// python3.12, do not count.
var interpreters = []string{"node", "nodejs", "bun", "deno", "python", "ruby", "perl", "lua", "php", "sh", "bash", "dash", "zsh", "fish", "ksh", "npx", "tsx", "java"}

// wrappers are words between an interpreter and its script.
var wrappers = []string{"run", "exec", "x"}

// aliases are the names that a process's arguments give it: the base of the
// first, and for an interpreter that of its script, also without its suffix.
func aliases(argv []string) []string {
	if len(argv) == 0 || argv[0] == "" {
		return nil
	}
	program := strings.TrimPrefix(filepath.Base(argv[0]), "-") // a login shell's
	names := []string{program}
	if !slices.Contains(interpreters, strings.TrimRight(program, "0123456789.")) {
		return names
	}
	if script := scriptOf(argv[1:]); script != "" {
		base := filepath.Base(script)
		names = append(names, base, strings.TrimSuffix(base, filepath.Ext(base)))
	}
	return names
}

// scriptOf returns the first argument that is no option, or the module that
// -m names. Code on the command line has no name.
func scriptOf(args []string) string {
	for i, arg := range args {
		switch {
		case arg == "-c" || arg == "-e" || arg == "":
			return ""
		case arg == "-m" && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(arg, "-") || slices.Contains(wrappers, arg):
			continue
		}
		return arg
	}
	return ""
}
