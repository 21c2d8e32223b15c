package cell

import (
	"slices"
	"strings"
	"time"

	"den/internal/base/lazy"
	"den/internal/process/pty"
	"den/internal/screen/vt"
)

// Inside says which shell may read the terminal in the place of the session's own
// program or shell. What is printed has no part in it: the kernel says what is in
// the foreground, and den knows what it typed.
type Inside struct {
	Evidence Evidence
	Process  pty.Process // the shell, or what carries it
}

// Evidence is why there may be a shell.
type Evidence string

// The evidence, the surest last.
const (
	NoShell  Evidence = ""
	MayCarry Evidence = "may-carry" // such as 'docker run IMAGE': what it runs is not told
	Carries  Evidence = "carries"   // such as 'ssh HOST', or a shell that may not be looked at
	Reads    Evidence = "reads"     // the kernel says that an interactive shell waits for the terminal
)

// LookInside looks for a shell among the programs in the terminal's foreground.
// own is the session's program.
//
// A shell with marks that runs a command does not read, whatever the kernel says of
// its process (read -e), or of what carries it: there is another one only if that
// command has begun it.
func (o *Observed) LookInside(programs []pty.Program, own int) {
	m, reader := &o.Shell, 0
	if o.Ready {
		reader = o.Probe.PID
	}
	o.Inside = shellAmong(programs, reader)
	marked := own
	if m.Inner {
		marked = m.Inquiry.Shell.PID
	}
	told := m.Token != "" && m.Input != (vt.Mark{}) // it has shown a prompt with marks
	if is := o.Inside; told && is.Process.PID == marked && leadsCode(m.Inquiry.Code) != Carries {
		o.Inside = Inside{}
	}
}

// shellAmong is LookInside by what the programs are. reader is the process that
// waits for the terminal and nothing else, or 0.
func shellAmong(programs []pty.Program, reader int) (found Inside) {
	for _, p := range programs {
		if p.PID == reader {
			if p.Exe != "" && isInteractive(p.Exe, p.Argv) {
				return Inside{Reads, p.Process}
			}
			return Inside{}
		}
	}
	for _, p := range programs {
		name := p.Exe
		if name == "" {
			name = p.Name
		}
		if is := leads(name, p.Argv); is == Carries || is == MayCarry && found.Evidence == NoShell {
			found = Inside{is, p.Process}
		}
	}
	return found
}

var posixShells = []string{"sh", "dash", "ash", "busybox", "ksh", "mksh"}

// isInteractive reports whether a shell reads commands from its terminal.
func isInteractive(name string, argv []string) bool {
	switch {
	case len(argv) == 0:
		return false
	case name == "bash":
		_, ok := parseBash(argv)
		return ok
	case name == "zsh":
		_, _, ok := parseZsh(argv[1:])
		return ok
	case !slices.Contains(posixShells, name):
		return false
	}
	args := argv[1:]
	if shellName(argv[0]) == "busybox" {
		if len(args) == 0 || args[0] != "sh" && args[0] != "ash" {
			return false
		}
		args = args[1:]
	}
	return !slices.ContainsFunc(args, func(arg string) bool { return !isShFlags(arg) })
}

// isShFlags reports whether an argument of sh changes nothing of who gives it
// commands.
func isShFlags(arg string) bool {
	flags, ok := strings.CutPrefix(arg, "-")
	return ok && flags != "" && strings.Trim(flags, "ilefuCbmIVEq") == ""
}

// Programs that hand the terminal to another one, and how they say which.
var (
	becomers   = []string{"sudo", "doas", "run0"}
	switchers  = []string{"su", "runuser"}
	containers = []string{"docker", "podman", "nerdctl", "kubectl", "oc", "crictl", "lxc", "incus"}
	enterers   = []string{"nsenter", "unshare", "chroot", "nix-shell", "toolbox", "distrobox", "machinectl", "systemd-nspawn", "lxc-attach"}
)

// leads tells whether a command line leads to an interactive shell. What is not
// known to do so does not.
func leads(name string, argv []string) Evidence {
	if isInteractive(name, argv) {
		return Carries
	}
	if len(argv) == 0 {
		return NoShell
	}
	switch args := argv[1:]; {
	case name == "ssh":
		flags, words := splitFlags(args, "-B-b-c-D-E-e-F-I-i-J-L-l-m-O-o-P-p-Q-R-S-W-w")
		if len(words) > 0 {
			more, rest := splitFlags(words[1:], "-p-o-i-l-F-J") // they may stand behind the host
			flags, words = append(flags, more...), rest
		}
		if has(flags, "-N", "-f", "-W", "-O", "-Q") {
			return NoShell
		}
		return leadsOr(Carries, strings.Join(words, " "))
	case slices.Contains(becomers, name):
		flags, words := splitFlags(args, "-u-g-h-p-C-r-t-T-R-U-D--user--group--chdir--host")
		if len(words) > 0 {
			return leadsCode(strings.Join(words, " "))
		}
		return when(slices.ContainsFunc(flags, asksForShell), Carries)
	case name == "env":
		_, words := splitFlags(args, "-u-C--unset--chdir")
		return leadsCode(strings.Join(words, " "))
	case slices.Contains(switchers, name):
		return when(!slices.ContainsFunc(args, isCommandFlag), Carries)
	case slices.Contains(containers, name):
		if at := slices.Index(args, "exec"); at >= 0 {
			_, words := splitFlags(args[at+1:], "-e-u-w-n-c--env--user--workdir--env-file--detach-keys--namespace--container")
			return leadsOr(NoShell, strings.Join(words[min(1, len(words)):], " "))
		}
		return when(has(args, "run", "attach", "start", "shell", "debug"), MayCarry)
	case slices.Contains(enterers, name):
		return MayCarry
	}
	return NoShell
}

// leadsOr is leadsCode of a command that may be missing.
func leadsOr(missing Evidence, command string) Evidence {
	if command == "" {
		return missing
	}
	return leadsCode(command)
}

// splitFlags splits the flags of a program from the words behind them. valued names
// the flags that take the next word.
func splitFlags(args []string, valued string) (flags, words []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return flags, args[i+1:]
		case len(arg) < 2 || arg[0] != '-':
			// Of kubectl the command follows a -- behind the pod.
			return flags, slices.DeleteFunc(slices.Clone(args[i:]), func(word string) bool { return word == "--" })
		}
		flags = append(flags, arg)
		last := arg
		if !strings.HasPrefix(arg, "--") {
			last = "-" + arg[len(arg)-1:]
		}
		if strings.Contains(valued+"-", last+"-") && !strings.Contains(arg, "=") {
			i++
		}
	}
	return flags, nil
}

func has(args []string, words ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) })
}

func when(holds bool, is Evidence) Evidence {
	if holds {
		return is
	}
	return NoShell
}

// asksForShell matches -s and -i of sudo, alone or among other flags.
func asksForShell(arg string) bool {
	return arg == "--shell" || arg == "--login" || arg[1] != '-' && strings.ContainsAny(arg, "si")
}

// isCommandFlag matches -c of su, alone or behind other flags.
func isCommandFlag(arg string) bool {
	return strings.HasPrefix(arg, "--command") || strings.HasPrefix(arg, "--session-command") || len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.HasSuffix(arg, "c")
}

// leadsCode tells whether the last command of code leads to an interactive shell.
func leadsCode(code string) Evidence {
	code = strings.TrimSpace(code)
	words := strings.Fields(code[strings.LastIndexAny(code, ";&|\n(){}")+1:])
	for len(words) > 0 && (words[0] == "exec" || words[0] == "command" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return NoShell
	}
	for i, word := range words {
		words[i] = strings.Trim(word, `'"`)
	}
	return leads(shellName(words[0]), words)
}

// Prompts that shells show: (venv) user@host:~/dir$ , [user@host dir]# , bash-5.2$ ,
// ~/dir % , host# . None ends as that of a database (db=# ) or of tclsh (% ) does.
var (
	shellPrompt = lazy.Regexp{Expr: `^(\([^()]+\) ?)*(` + hostPrompt + `|(bash|sh)-[0-9][0-9.]*|[~/][^\s=]*|\pL([\pL\pN_.-]*[\pL\pN])?) ?[$#%] $|^(\([^()]+\) ?)*[$#] $`}
	fullPrompt  = lazy.Regexp{Expr: `^(\([^()]+\) ?)*` + hostPrompt + ` ?[$#%] $`}
)

const hostPrompt = `\[?[\pL\pN_.+-]+@[\pL\pN_.-]+[ :]?[^\s\]]*(\s\([^()]+\))?\]?`

// innerRest is how long the prompt of a shell that the kernel does not see must have
// stood.
const innerRest = 300 * time.Millisecond

// mayBeInner reports whether what is shown may be the prompt of a shell inside the
// session's program, before the kernel is asked what is there.
func (o *Observed) mayBeInner() bool {
	switch {
	case o.Shell.Token != "" && !o.Shell.runs(), o.AltScreen, o.CursorHidden, o.Probe.Canonical && !o.Probe.Echo:
		return false
	case o.Ready:
		return !o.Probe.Canonical || shellPrompt.Get().MatchString(o.Left.Text)
	}
	return o.Probe.State == pty.Unknown && !o.Probe.Gone && shellPrompt.Get().MatchString(o.Left.Text)
}

// NeedsInside reports whether Inside matters to what is decided next.
func NeedsInside(p Program, o *Observed, s *State) bool {
	rests := o.Ready && !o.Sent || o.Probe.State == pty.Unknown && o.Quiet > promptRest
	return p.marksInner() && !o.Exited && o.Heard && o.Probe.State != "" && s.Marking == "" && rests && o.mayBeInner()
}

// AtInnerPrompt reports whether a shell inside the session's program shows its
// prompt, and waits for a command.
func (o *Observed) AtInnerPrompt() bool {
	q := &o.Shell.Inquiry
	if !o.mayBeInner() || q.Declined == o.Inside.Process && (SamePrompt(q.AtPrompt, o.Left.Text) || OtherPath(q.AtPrompt, o.Left.Text)) {
		return false
	}
	switch o.Inside.Evidence {
	case Reads:
		return o.Ready
	case Carries:
		return !o.Ready && !o.Probe.Canonical && o.Quiet > innerRest
	case MayCarry:
		return !o.Ready && !o.Probe.Canonical && o.Quiet > innerRest && fullPrompt.Get().MatchString(o.Left.Text)
	}
	return false
}

// soonInner reports whether that may become true while nothing happens.
func (o *Observed) soonInner() bool {
	return !o.Ready && o.Quiet <= innerRest && o.Inside.Evidence != NoShell && o.mayBeInner()
}
