package cell

import (
	"embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
)

//go:embed shell
var startFiles embed.FS

// Integration is the result of Integrate.
type Integration struct {
	Argv []string
	Env  []string // KEY=VALUE
	// Shell is "bash", "zsh", "fish" or "sh" if the command is an interactive
	// shell that will print marks. Otherwise it is "", and Argv and Env are
	// unchanged.
	Shell string
	// NoEditor is set if the shell has no line editor: the terminal edits its lines.
	NoEditor bool
}

// Integrate makes an interactive shell print marks (OSC 133), which [OwnMark]
// recognises by their token, at each prompt and before and after each command.
// The shell loads the user's own files as usual.
//
// The start-up files are written to dir, which is created if needed, and must
// exist until the shell has shown its first prompt. They contain the token and
// are readable only by their owner. The shell's children get no extra
// environment variables.
//
// The token consists of letters, digits, '-' and '_'. A nil env means this
// process's environment.
func Integrate(argv, env []string, dir, token string) (Integration, error) {
	plain := Integration{Argv: argv, Env: env}
	if token == "" || strings.Trim(token, tokenChars) != "" {
		return plain, fault.Errorf(fault.Internal, "integrate shell: token %q: not letters and digits", token)
	}
	if len(argv) == 0 {
		return plain, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return plain, err
	}
	if env == nil {
		env = os.Environ()
	}
	prepare := preparer(shellName(argv[0]))
	if prepare == nil {
		return plain, nil
	}
	p, ok := prepare(command{argv: argv, env: env, dir: dir, token: token})
	if !ok {
		return plain, nil
	}
	if err := p.write(dir); err != nil {
		return plain, err
	}
	return p.Integration, nil
}

const tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// command is a shell's command line and environment, with what den adds.
type command struct {
	argv, env  []string
	dir, token string
}

// plan is a way to start a shell with marks.
type plan struct {
	Integration
	files map[string]string // name in the directory to content
}

// preparer returns the function that prepares a shell, by the program's name, or
// nil. The function returns false for a command that is not interactive or
// cannot be made to print marks.
func preparer(name string) func(command) (plan, bool) {
	switch name {
	case "bash":
		return prepareBash
	case "zsh":
		return prepareZsh
	case "fish":
		return prepareFish
	case "sh", "dash", "ash", "busybox":
		return prepareSh
	}
	return nil
}

// shellName returns the program's name in argv0, without the dash of a login
// shell.
func shellName(argv0 string) string {
	return filepath.Base(strings.TrimPrefix(argv0, "-"))
}

func (p plan) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range p.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startFile returns an embedded file with the lines of head before it.
func startFile(name string, head ...string) string {
	body, err := startFiles.ReadFile("shell/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.Join(head, "\n") + "\n" + string(body)
}

// assign returns a line that sets a variable in any shell but fish.
func assign(name, value string) string { return name + "=" + quote(value) }

// quote quotes s as one word for any shell but fish.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// restore returns a line that sets a variable to its value in env, or unsets
// it.
func restore(env []string, key string) string {
	if v, ok := lookup(env, key); ok {
		return "export " + assign(key, v)
	}
	return "unset " + key
}

func lookup(env []string, key string) (value string, ok bool) {
	for _, kv := range slices.Backward(env) {
		if k, v, found := strings.Cut(kv, "="); found && k == key {
			return v, true
		}
	}
	return "", false
}

// with returns env with key set.
func with(env []string, key, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	return append(env, key+"="+value)
}
