package cell

import (
	"embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/atomicfile"
	"den/internal/fault"
)

//go:embed shell
var startFiles embed.FS

// An Integration is a command that Integrate has looked at.
type Integration struct {
	Argv []string
	Env  []string // KEY=VALUE
	// Shell is "bash", "zsh", "fish" or "sh" when the command is an
	// interactive shell that will give marks, else "", with Argv and Env as
	// they were.
	Shell string
}

// Integrate makes an interactive shell give marks (OSC 133) that [OwnMark]
// knows by their token: at each prompt, before and after each command. The
// shell then loads the user's own files as it would have.
//
// The start files go into dir, which is made if need be, and must stay until
// the shell has shown its first prompt. They hold the token, and no one but
// their owner can read them. No variable of the environment that the shell's
// children get is of ours.
//
// The token is letters, digits, '-' and '_'. A nil env is this process's.
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
	prepare := shells[shellName(argv[0])]
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

// A command is what a shell is to be started with, and what den adds.
type command struct {
	argv, env  []string
	dir, token string
}

// A plan is how a shell is started with marks.
type plan struct {
	Integration
	files map[string]string // name in the directory to content
}

// shells maps a program's name to what prepares it. It says false for a
// command that is not an interactive shell, or one that no mark can be had from.
var shells = map[string]func(command) (plan, bool){
	"bash": prepareBash,
	"zsh":  prepareZsh,
	"fish": prepareFish,
	"sh":   prepareSh,
	"dash": prepareSh,
	"ash":  prepareSh,

	"busybox": prepareSh,
}

// shellName is the name of the program that argv0 says, without the dash of a
// login shell.
func shellName(argv0 string) string {
	return filepath.Base(strings.TrimPrefix(argv0, "-"))
}

func (p plan) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, content := range p.files {
		if err := atomicfile.Write(filepath.Join(dir, name), []byte(content)); err != nil {
			return err
		}
	}
	return nil
}

// startFile is one of the embedded files, after the lines of head.
func startFile(name string, head ...string) string {
	body, err := startFiles.ReadFile("shell/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.Join(head, "\n") + "\n" + string(body)
}

// assign is a line that sets a variable in any shell but fish.
func assign(name, value string) string { return name + "=" + quote(value) }

// quote makes one word of s for any shell but fish.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// restore is a line that makes an environment variable what it is in env.
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
