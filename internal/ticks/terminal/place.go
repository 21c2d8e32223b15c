package terminal

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/home"
)

// A Place runs the sessions of terminals: on this machine, or in a container.
type Place interface {
	// Start begins a session.
	Start(ctx context.Context, spec Spec) (*session.Session, error)
	// Find returns a session that was started before, by its id. One that is
	// not there is fault.NotFound.
	Find(ctx context.Context, id string, warn func(error)) (*session.Session, error)
	// Remove removes the files of a session that is over.
	Remove(ctx context.Context, id string) error
}

// Spec is a session to be started.
type Spec struct {
	Name    string
	Command string // for a shell, or "": a shell itself
	// Hold keeps the terminal when the command ends: a shell follows it.
	Hold   bool
	Labels map[string]string
	Warn   func(error) // told what the session's log lacks
}

// Label marks a session as the terminal of a kernel's agent.
const Label = "den.kernel-terminal"

// TickLabel has the number of the tick in which the terminal was opened.
const TickLabel = "den.kernel-tick"

// Native runs terminals on this machine.
type Native struct {
	Home    home.Home
	Options session.Options
	Dir     string   // where programs start, absolute
	Env     []string // their whole environment, without a terminal's
	Shell   string   // or "": bash, or sh where there is none
}

// Start begins a session in the Home.
func (n Native) Start(ctx context.Context, spec Spec) (*session.Session, error) {
	o := n.Options
	o.Warn = spec.Warn
	if strings.TrimSpace(spec.Command) == "bash" && !n.hasBash() {
		spec.Command = "" // the shell that there is
	}
	env := append(session.WithoutTerminal(n.Env), session.TerminalEnv(n.Home, session.DefaultTerm, n.Dir, o.Version)...)
	s, _, err := session.Create(ctx, n.Home, home.Spec{
		Name: spec.Name, Command: Argv(n.shell(), spec), Cwd: n.Dir, Env: env, Term: session.DefaultTerm,
		Cols: Cols, Rows: Rows, Labels: spec.Labels,
		RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}, o)
	return s, err
}

func (n Native) shell() string {
	switch {
	case n.Shell != "":
		return n.Shell
	case n.hasBash():
		return "bash"
	}
	return "sh"
}

// hasBash reports whether a terminal would find bash.
func (n Native) hasBash() bool {
	_, err := pty.LookPath(pty.Command{Argv: []string{"bash"}, Env: n.Env})
	return err == nil
}

// Find looks in the Home.
func (n Native) Find(_ context.Context, id string, warn func(error)) (*session.Session, error) {
	o := n.Options
	o.Warn = warn
	return session.Open(n.Home, id, o)
}

// Remove removes the session's directory. One that is not over stays.
func (n Native) Remove(_ context.Context, id string) error {
	_, err := n.Home.Collect(time.Now(), home.GCOptions{Only: func(other string) bool { return other == id }})
	return err
}

// shells are programs that are started as they are: a shell that runs another
// would be two.
var shells = []string{"bash", "sh", "zsh", "fish", "dash", "ksh"}

func isShell(command string) bool { return slices.Contains(shells, filepath.Base(command)) }

// held runs a command, says so if it failed, and becomes a shell. Job control
// gives the command the terminal's foreground, as a shell at its prompt does.
const held = `set -m
eval "$1"
s=$?
[ "$s" = 0 ] || printf '[exited with status %d]\n' "$s"
exec "$0"`

// Argv returns the command line of a session: that of the shell alone, or of
// the shell with the command, which it becomes if it can.
func Argv(shell string, spec Spec) []string {
	command := strings.TrimSpace(spec.Command)
	switch {
	case command == "":
		return []string{shell}
	case isShell(command):
		return []string{command}
	case spec.Hold:
		return []string{shell, "-c", held, shell, command}
	}
	return []string{shell, "-c", command}
}

// sessionName is the name of a terminal's session. Two terminals of one number
// cannot be open at the same time, so their names may be the same.
func sessionName(instance string, number int) string {
	return instance + "-tty_" + strconv.Itoa(number)
}
