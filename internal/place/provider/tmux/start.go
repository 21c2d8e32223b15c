package tmux

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/inherit"
)

// startTries bounds how often Start begins anew because the server went, or
// another process started and ended the same name meanwhile.
const startTries = 5

// Start makes the tmux session with its tags, its hook and its command in one
// go: no process sees it without them, and a command that ends at once leaves
// its screen and status.
func (p *Provider) Start(ctx context.Context, name string, c provider.Config) error {
	if err := errors.Join(provider.CheckName(name), checkConfig(name, c)); err != nil {
		return err
	}
	env := sessionEnv(os.Environ(), c)
	if _, err := findProgram(name, c, env["PATH"]); err != nil {
		return err
	}
	start := random()
	line, err := p.startLine(name, start, c, env)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		made, err := p.tryStart(ctx, name, start, line)
		if made != nil {
			return p.awaitCommand(ctx, name, made)
		}
		if !errors.Is(err, errLost) && !errors.Is(err, errNoServer) && !refused(err) || try == startTries {
			return err
		}
	}
}

// tryStart returns the session that it made. A refusal of tmux is told apart
// by what stands under the name afterwards, not by its words.
func (p *Provider) tryStart(ctx context.Context, name, start, line string) (*pane, error) {
	client, err := p.connection(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("start session '%s': %w", name, err)
	}
	if err := p.clear(ctx, name); err != nil {
		return nil, err
	}
	_, err = p.askOnce(ctx, client, line, readSequence)
	one, findErr := p.find(ctx, name)
	if findErr != nil {
		return nil, errors.Join(err, findErr)
	}
	if one != nil && one.start == start {
		return one, nil
	}
	if err == nil {
		err = errLost // it was made, and the server went
	}
	return nil, fmt.Errorf("start session '%s': %w", name, err)
}

// clear makes room for a session: one that runs stays, what is left of one
// that has ended goes.
func (p *Provider) clear(ctx context.Context, name string) error {
	one, err := p.find(ctx, name)
	if err != nil || one == nil {
		return err
	}
	if !one.ended() {
		return fault.Hintf(fault.Errorf(fault.Busy, "session '%s' runs already", name), "stop it first, or choose another name")
	}
	return p.remove(ctx, name, one)
}

// startLine is the line that makes the session.
func (p *Provider) startLine(name, start string, c provider.Config, env map[string]string) (string, error) {
	target := "=" + p.tmuxName(name) + ":"
	dir, before, after := startDirectory(c.WorkDir, start)
	words := []string{"new-session", "-d", "-s", p.tmuxName(name), "-c", dir,
		"-x", strconv.Itoa(provider.Cols), "-y", strconv.Itoa(provider.Rows)}
	keys := make([]string, 0, len(env))
	for k := range env {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		words = append(words, "-e", k+"="+env[k])
	}
	argv, err := p.launch(c.Argv, keys, p.markOf(name, start))
	if err != nil {
		return "", fmt.Errorf("start session '%s': %w", name, err)
	}
	words = append(words, argv...)
	option := func(key, value string) string { return command("set-option", "-t", target, key, value) }
	parts := append(before, command(words...), // with @den-dir, which an older den reads
		command("set-option", "-w", "-t", target, "remain-on-exit", "on"),
		option("@den-owner", encoded(p.owner)), option("@den-name", encoded(name)), option("@den-dir", encoded(c.WorkDir)), option("@den-start", start),
		command("set-option", "-F", "-t", target, "@den-pane", "#{pane_id}"),
		command("set-hook", "-t", target, "pane-died", p.deathHook(name, start)))
	for _, key := range slices.Sorted(maps.Keys(c.Meta)) {
		if err := provider.CheckKey(key); err != nil {
			return "", fmt.Errorf("start session '%s': %w", name, err)
		}
		parts = append(parts, option(metaOption(key), encoded(c.Meta[key])))
	}
	return sequence(append(parts, after...)...), nil
}

// startDirectory is the value of -c, which tmux expands: a path with '#' goes
// through an option, whose value is not expanded again.
func startDirectory(dir, start string) (value string, before, after []string) {
	if !strings.Contains(dir, "#") {
		return dir, nil, nil
	}
	key := "@den-dir-" + start
	return "#{" + key + "}", []string{command("set-option", "-g", key, dir)}, []string{command("set-option", "-gu", key)}
}

// awaitCommand returns when the command has taken the place of tmux's child,
// or has ended.
func (p *Provider) awaitCommand(ctx context.Context, name string, made *pane) error {
	for {
		if made.ended() || startedWith(made.pid, markKey+"="+p.markOf(name, made.start)) {
			return nil
		}
		if err := poll.Pause(ctx, 200*time.Microsecond); err != nil {
			return fmt.Errorf("start session '%s': %w", name, err)
		}
		if processRuns(made.pid) {
			continue
		}
		one, err := p.find(ctx, name)
		if err != nil {
			return err
		}
		if one == nil || one.start != made.start {
			return nil // it ran, ended, and was stopped by somebody
		}
		made = one
	}
}

// gate is the script that becomes the command. It asks the server something
// first: when that has answered, the turn in which it made the pane is over.
// Before that tmux 3.3 may collect a child without reading its last words, and
// of a command that ends at once nothing would be seen. The mark comes last,
// so who bears it is the command itself; until then the script bears another,
// so that what would become a session's command when its server has gone is
// found too.
const gate = `"$1" -N -S "$2" has-session -t "=` + keeper + `" </dev/null >/dev/null 2>&1; unset ` + gateKey + `; export ` + markKey + `="$3"; shift 3; exec "$@"`

// A shell does not hand on variables that it could not have named.
var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// launch is what comes after new-session's options so far: the command behind
// the gate, or as it is where its environment has variables that the gate
// would lose. It is never one word: tmux would give that to a shell.
func (p *Provider) launch(argv, variables []string, mark string) ([]string, error) {
	if !slices.ContainsFunc(variables, func(k string) bool { return !shellName.MatchString(k) }) {
		return append([]string{"-e", gateKey + "=" + mark, "--", "/bin/sh", "-c", gate, "den-start", p.binary, p.socket, mark}, argv...), nil
	}
	mark = markKey + "=" + mark
	switch {
	case len(argv) > 1:
		return append([]string{"-e", mark, "--"}, argv...), nil
	case strings.Contains(argv[0], "="): // env would take it for a variable
		return []string{"-e", mark, "--", "/bin/sh", "-c", `exec "$0"`, argv[0]}, nil
	}
	env, err := exec.LookPath("env")
	return []string{"--", env, mark, argv[0]}, err
}

// defaultPath is where a command without a PATH is looked for.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// inherited is what a session has of this process's environment.
func inherited(environ []string) map[string]string {
	env := inherit.Vars(environ)
	if _, ok := env["PATH"]; !ok {
		env["PATH"] = defaultPath
	}
	return env
}

// serverEnv is the server's environment. Sessions get it too, so it is no more
// than what is the same whoever starts the server.
func serverEnv(environ []string) []string {
	var env []string
	for _, k := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"} {
		if v, ok := inherited(environ)[k]; ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// sessionEnv is what a session's command gets on top of the server's.
func sessionEnv(environ []string, c provider.Config) map[string]string {
	env := inherited(environ)
	env["COLORTERM"] = "truecolor"
	env["PWD"] = c.WorkDir
	for k, v := range c.Env {
		env[k] = v
	}
	return env
}

// defaultTerminal is the best description of tmux's terminal that programs
// will find here.
func defaultTerminal() string {
	for _, term := range []string{"tmux-256color", "screen-256color"} {
		for _, dir := range []string{"/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo"} {
			if _, err := os.Stat(filepath.Join(dir, term[:1], term)); err == nil {
				return term
			}
		}
	}
	return "screen"
}

// tmux does not report whether a command could be executed. So everything that
// the system would refuse is checked first.

// The system's bounds for one argument and for all of them, less a page.
const (
	maxArgument  = 128<<10 - 1
	maxArguments = 2<<20 - 4096
)

func checkConfig(name string, c provider.Config) error {
	usage := func(format string, args ...any) error {
		return fault.Errorf(fault.Usage, "start session '%s': "+format, append([]any{name}, args...)...)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return usage("no command is given")
	}
	if !filepath.IsAbs(c.WorkDir) {
		return usage("working directory %q is not absolute", c.WorkDir)
	}
	if fi, err := os.Stat(c.WorkDir); err != nil {
		return usage("working directory: %w", err)
	} else if !fi.IsDir() {
		return usage("working directory %s is no directory", c.WorkDir)
	}
	total := 0
	for _, arg := range c.Argv {
		total += len(arg) + 1
		if strings.Contains(arg, "\x00") || len(arg) > maxArgument {
			return usage("an argument holds a zero byte, or has %d bytes where %d fit", len(arg), maxArgument)
		}
	}
	for k, v := range c.Env {
		total += len(k) + len(v) + 2
		if !inherit.Valid(k, v) || len(k)+len(v)+1 > maxArgument {
			return usage("variable %.40q cannot be handed on", k)
		}
	}
	if total > maxArguments {
		return fault.Hintf(usage("arguments and variables have %d bytes, %d fit", total, maxArguments), "put long text into a file and name that")
	}
	return nil
}

// findProgram returns the file that the command's own PATH, directory and
// rights lead to, or why there is none.
func findProgram(name string, c provider.Config, path string) (string, error) {
	program := c.Argv[0]
	if strings.Contains(program, "/") {
		file := below(c.WorkDir, program)
		if err := executable(file); err != nil {
			return "", fault.Errorf(fault.Usage, "start session '%s': %s: %w", name, program, err)
		}
		return file, nil
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		file := below(c.WorkDir, filepath.Join(dir, program))
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			denied = fault.Errorf(fault.Usage, "start session '%s': %s: %w", name, file, err)
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fault.Hintf(fault.Errorf(fault.Usage, "start session '%s': %q: no such command on PATH (%s)", name, program, path),
		"check the spelling, or give the program's full path")
}

// below is file as the command sees it from its directory.
func below(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

var errNotExecutable = errors.New("is not executable (chmod +x may help)")

func executable(file string) error {
	fi, err := os.Stat(file)
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	const mayExecute = 1 // X_OK
	switch {
	case err != nil:
		return err
	case fi.IsDir():
		return errors.New("is a directory")
	case fi.Mode()&0o111 == 0, syscall.Access(file, mayExecute) != nil:
		return errNotExecutable
	}
	return loadable(file)
}

// loadable looks at how a file begins: a program for this machine, or a script
// whose interpreter is there. Where other kinds are registered with the system
// it does not judge.
func loadable(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil // one that may be executed but not read
	}
	defer f.Close() // Best effort: it was only read.
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	switch {
	case bytes.HasPrefix(line, []byte("#!")):
		words := strings.Fields(string(line[2:]))
		if len(words) == 0 {
			return errors.New("its first line names no interpreter")
		}
		if _, err := os.Stat(words[0]); err != nil {
			return errors.New("its interpreter " + words[0] + " does not exist")
		}
		return nil
	case bytes.HasPrefix(line, []byte(elf.ELFMAG)), otherKinds():
		return nil
	}
	return errors.New("is neither a program nor a script with a #! line")
}

// otherKinds reports whether this system executes more than its own programs
// and scripts, or is one whose programs we do not know.
func otherKinds() bool {
	entries, err := os.ReadDir("/proc/sys/fs/binfmt_misc")
	if err != nil {
		_, err := os.Stat("/proc/self/exe")
		return err != nil
	}
	for _, e := range entries {
		if n := e.Name(); n != "register" && n != "status" {
			return true
		}
	}
	return false
}
