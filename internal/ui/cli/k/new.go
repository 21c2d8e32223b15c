package k

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
	"den/internal/base/lazy"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"

	"golang.org/x/sys/unix"
)

// create is k new: SESSION [CMD...] [--prompt=X].
func (k Tool) create(args []string) int {
	name, ok := k.checked(args[0])
	if !ok {
		return 1
	}
	if ident.Check("session", name) != nil { // k would take it, den does not
		return k.say(1, "ERR invalid session name: %s", pyRepr(name))
	}
	var words []string
	prompt := ""
	for _, word := range args[1:] {
		if p, ok := strings.CutPrefix(word, "--prompt="); ok {
			prompt = p
			continue
		}
		words = append(words, word)
	}
	ctx, stop := untilInterrupted(syscall.SIGTERM)
	defer stop()
	if k.alive(ctx, name) {
		return k.say(0, "OK %s (alive)", name)
	}
	if strings.ContainsRune(prompt, os.PathSeparator) {
		path, err := k.hook(prompt)
		if err != nil {
			return k.say(1, "ERR %v", err)
		}
		prompt = path
	}
	s, err := k.start(ctx, name, words, prompt)
	if fault.KindOf(err) == fault.Busy && k.alive(ctx, name) { // somebody was faster
		return k.say(0, "OK %s (alive)", name)
	}
	if err == nil {
		err = k.ready(ctx, s)
	}
	switch {
	case err != nil:
		return k.say(1, "ERR %v", err)
	case prompt != "":
		return k.say(0, "OK %s prompt=%s", name, pyRepr(prompt))
	}
	return k.say(0, "OK %s", name)
}

// alive reports whether a session of exactly this name runs. One that is about
// to end is waited for: its name is free then.
func (k Tool) alive(ctx context.Context, name string) bool {
	root, err := k.home()
	if err != nil {
		return false
	}
	s, err := session.Open(root, name, k.options())
	if err != nil {
		return false
	}
	m, err := s.Dir.Reconcile()
	if err != nil || m.Name != name || m.Status.Final() {
		return false
	}
	if m.Status == home.Starting || m.Status == home.Running {
		return true
	}
	_ = s.WaitGone(ctx) // Best effort: a name that is still taken is refused.
	return false
}

// hook checks the program that decides when a cell is done.
func (k Tool) hook(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && k.Getenv("HOME") != "" {
		path = filepath.Join(k.Getenv("HOME"), rest)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(abs)
	switch {
	case err != nil || !fi.Mode().IsRegular():
		return "", fmt.Errorf("hook not found: %s", abs)
	case unix.Access(abs, unix.R_OK) != nil:
		return "", fmt.Errorf("hook not readable: %s", abs)
	case unix.Access(abs, unix.X_OK) != nil:
		return "", fmt.Errorf("hook not executable: %s", abs)
	}
	return abs, nil
}

func (k Tool) start(ctx context.Context, name string, words []string, prompt string) (*session.Session, error) {
	root, err := k.home()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	s, _, err := session.Create(ctx, root, home.Spec{
		Name: name, Command: k.command(words), Cwd: cwd, Prompt: prompt,
		Term: session.DefaultTerm, Cols: session.DefaultCols, Rows: session.DefaultRows,
		Env:         append(session.WithoutTerminal(k.Environ), session.TerminalEnv(root, session.DefaultTerm, cwd, k.Version)...),
		RecordInput: home.RecordAuto, LogLimit: session.DefaultLogLimit,
	}, k.options())
	return s, err
}

// plainLine matches a command line in which a shell would find nothing but words.
var plainLine = lazy.Regexp{Expr: `^[A-Za-z0-9_./+][A-Za-z0-9_./:=@%+, -]*$`}

// command is the program for k's words, which are one line for a shell. A line
// without anything for a shell to do is run without one, so that den knows the
// program: a bash is then a bash.
func (k Tool) command(words []string) []string {
	line := cmp.Or(strings.Join(words, " "), "bash")
	if plain := strings.Fields(line); plainLine.Get().MatchString(line) && !strings.Contains(plain[0], "=") {
		if _, err := exec.LookPath(plain[0]); err == nil {
			return plain
		}
	}
	return []string{session.Shell(k.Getenv), "-c", line}
}

// readyLimit is how long k new waits for a program of which the kernel does not
// tell that it waits for input.
const readyLimit = time.Second

// ready waits until the program takes input, and is an error if it has ended.
func (k Tool) ready(ctx context.Context, s *session.Session) error {
	// The answer is in the record: whatever went wrong here is told by it.
	_, _ = s.Wait(ctx, wire.Wait{Ready: true, Timeout: readyLimit})
	m, err := s.Dir.Inspect()
	if err == nil && m.Status == home.Exiting {
		_ = s.WaitGone(ctx) // Best effort: the record is read all the same.
		m, err = s.Dir.Reconcile()
	}
	if err != nil || !m.Status.Final() {
		return err
	}
	last := ""
	if r, err := s.Replay(ctx, session.Now()); err == nil {
		if lines := screen.LastLines(strings.TrimRight(screen.Text(r.Terminal), "\n "), 1); len(lines) > 0 && lines[0] != "" {
			last = ": " + lines[0]
		}
	}
	return fmt.Errorf("the command ended at once, %s%s", m.Ending(), last)
}
