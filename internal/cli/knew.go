package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"den/internal/fault"
	"den/internal/home"
	"den/internal/host"
	"den/internal/ident"
	"den/internal/screen"
	"den/internal/wire"

	"golang.org/x/sys/unix"
)

// create is k new: SESSION [CMD...] [--prompt=X].
func (k kTool) create(args []string) int {
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
	ctx, stop := kCanceled(syscall.SIGTERM)
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
	d, err := k.start(ctx, name, words, prompt)
	if fault.KindOf(err) == fault.Busy && k.alive(ctx, name) { // somebody was faster
		return k.say(0, "OK %s (alive)", name)
	}
	if err == nil {
		err = k.settled(ctx, d)
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
func (k kTool) alive(ctx context.Context, name string) bool {
	root, err := k.home()
	if err != nil {
		return false
	}
	d, err := root.Find(name)
	if err != nil {
		return false
	}
	m, err := d.Reconcile()
	if err != nil || m.Name != name || m.Status.Final() {
		return false
	}
	if m.Status == home.Starting || m.Status == home.Running {
		return true
	}
	k.awaitGone(ctx, d)
	return false
}

func (k kTool) awaitGone(ctx context.Context, d home.Dir) {
	gone, err := d.Gone()
	if err != nil {
		return // nothing to wait for
	}
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// hook checks the program that decides when a cell is done.
func (k kTool) hook(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && k.getenv("HOME") != "" {
		path = filepath.Join(k.getenv("HOME"), rest)
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

func (k kTool) start(ctx context.Context, name string, words []string, prompt string) (home.Dir, error) {
	root, err := k.home()
	if err != nil {
		return home.Dir{}, err
	}
	spec, err := k.spec(root, name, k.kCommand(words), newOptions{
		cols: 120, rows: 40, term: "xterm-256color", prompt: prompt,
		logLimit: "256MiB", logSync: "rotate", recordInput: host.RecordAuto,
	})
	if err != nil {
		return home.Dir{}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return home.Dir{}, fmt.Errorf("find den's own binary: %w", err)
	}
	d, _, err := root.Create(ctx, spec, binary)
	if err != nil {
		return d, err
	}
	if err := home.NewRegistry(k.getenv).Add(root, time.Now()); err != nil {
		fmt.Fprintf(k.stderr, "den: the session runs, but its Home was not registered: %v\n", err)
	}
	return d, nil
}

// kPlain matches a command line in which a shell would find nothing but words.
var kPlain = regexp.MustCompile(`^[A-Za-z0-9_./+][A-Za-z0-9_./:=@%+, -]*$`)

// kCommand is the program for k's words, which are one line for a shell. A line
// without anything for a shell to do is run without one, so that den knows the
// program: a bash is then a bash.
func (k kTool) kCommand(words []string) []string {
	line := strings.Join(words, " ")
	if line == "" {
		line = "bash"
	}
	if plain := strings.Fields(line); kPlain.MatchString(line) && !strings.Contains(plain[0], "=") {
		if _, err := exec.LookPath(plain[0]); err == nil {
			return plain
		}
	}
	return []string{k.shell(), "-c", line}
}

// kSettle is how long k new waits for a program of which the kernel does not
// tell that it waits for input.
const kSettle = time.Second

// settled waits until the program takes input, and is an error if it has ended.
func (k kTool) settled(ctx context.Context, d home.Dir) error {
	// The answer is in the record: whatever went wrong here is told by it.
	_ = k.call(ctx, d, wire.MethodWait, wire.Wait{Ready: true, Timeout: kSettle}, nil)
	m, err := d.Inspect()
	if err == nil && m.Status == home.Exiting {
		k.awaitGone(ctx, d)
		m, err = d.Reconcile()
	}
	if err != nil || !m.Status.Final() {
		return err
	}
	last := ""
	if r, err := replayTo(d, point{}); err == nil {
		if lines := screen.LastLines(strings.TrimRight(screen.Text(r.Terminal), "\n "), 1); len(lines) > 0 && lines[0] != "" {
			last = ": " + lines[0]
		}
	}
	return fmt.Errorf("the command ended at once, %s%s", m.Ending(), last)
}
