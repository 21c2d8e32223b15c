// Package sandbox keeps a process and its children to a list of files and a
// network.
//
// A Policy says what an agent may do. It is a file that the agent cannot write;
// `den confine FILE -- COMMAND` reads it, gives up everything else and becomes
// the command. Probe decides beforehand how the policy is enforced, and the policy
// records it. If the machine can no longer enforce it so, the command does not
// start; it never starts with less.
package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// Verb is den's word for the process that becomes a command in a sandbox.
const Verb = "confine"

const policyVersion = 1

// The networks of a policy.
const (
	NetworkAny      = "any"
	NetworkLoopback = "loopback" // its own: a server that it starts is there for it alone
	NetworkNone     = "none"
)

// Networks are the words for a network.
var Networks = []string{NetworkAny, NetworkLoopback, NetworkNone}

// A Policy is what an agent's processes may do. Paths are absolute; a path that
// is not there is not granted.
type Policy struct {
	V     int    `json:"v"`
	Agent string `json:"agent"`

	// WorkDir is the directory in which the agent works. It may write there.
	WorkDir string `json:"work_dir"`
	// Home is the person's home directory. In the sandbox Private/home takes
	// its place, with what is granted of it.
	Home string `json:"home,omitempty"`
	// Private is a directory of this agent alone, in which Prepare makes a
	// home and the /tmp of the sandbox.
	Private string `json:"private"`

	Read  []string `json:"read,omitempty"`  // to read and to execute
	Write []string `json:"write,omitempty"` // to write, too
	// Copy are files of Home that the agent gets a copy of, at its first start.
	Copy []string `json:"copy,omitempty"`
	// Protect are files and directories that decide what runs outside of the
	// sandbox: they are only read, wherever they lie. One that cannot be
	// protected is an error.
	Protect []string `json:"protect,omitempty"`
	// Keep is Protect where the machine can do it.
	Keep []string `json:"keep,omitempty"`
	// Hide are directories that are empty, whatever is granted around them.
	Hide []string `json:"hide,omitempty"`
	// Sockets may be connected to.
	Sockets []string `json:"sockets,omitempty"`

	// Env names the variables that the agent gets besides the common ones;
	// one that ends in * stands for all that begin so.
	Env []string `json:"env,omitempty"`

	Network string  `json:"network"`
	Held    Support `json:"held"` // what holds it
}

func (p Policy) file() string { return filepath.Join(p.Private, "policy.json") }
func (p Policy) home() string { return filepath.Join(p.Private, "home") }
func (p Policy) tmp() string  { return filepath.Join(p.Private, "tmp") }
func (p Policy) root() string { return filepath.Join(p.Private, "root") } // where the sandbox's own / is mounted

// Prepare makes the agent's own directories, with an empty /tmp, and writes the
// policy. It is called before the first process of a start.
func (p Policy) Prepare() error {
	if !filepath.IsAbs(p.Private) || !filepath.IsAbs(p.WorkDir) {
		return fault.Errorf(fault.Internal, "sandbox of agent '%s': '%s' and '%s' must be absolute", p.Agent, p.Private, p.WorkDir)
	}
	if err := p.Held.Enough(p); err != nil {
		return err
	}
	err := os.RemoveAll(p.tmp())
	if err != nil {
		return fault.Errorf(fault.Storage, "sandbox of agent '%s': empty its /tmp: %w", p.Agent, err)
	}
	for _, dir := range []string{p.home(), p.tmp(), p.root()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fault.Errorf(fault.Storage, "sandbox of agent '%s': %w", p.Agent, err)
		}
	}
	err = p.copyFiles()
	if err == nil {
		err = p.linkHome()
	}
	if err != nil {
		return fault.Errorf(fault.Storage, "sandbox of agent '%s': %w", p.Agent, err)
	}
	if err := statefile.Save(p.file(), policyVersion, p); err != nil {
		return fault.Errorf(fault.Storage, "sandbox of agent '%s': %w", p.Agent, err)
	}
	return nil
}

// Wrap is the command that becomes argv in the sandbox.
func (p Policy) Wrap(den string, argv []string) []string {
	return append([]string{den, Verb, p.file(), "--"}, argv...)
}

// Load reads the policy of an agent whose own directory is private.
func Load(private string) (Policy, error) { return load(Policy{Private: private}.file()) }

func load(file string) (Policy, error) {
	p, found, err := statefile.Load[Policy](file, policyVersion, statefile.Large)
	switch {
	case err != nil:
		return p, fmt.Errorf("read the sandbox's policy: %w", err)
	case !found:
		return p, fault.Errorf(fault.NotFound, "read the sandbox's policy: there is no %s", file)
	case p.V < policyVersion: // it could not say all that this build enforces
		return p, fault.Errorf(fault.Protocol, "the sandbox's policy %s has version %d, this den knows %d", file, p.V, policyVersion)
	}
	return p, nil
}

// copyFiles gives the agent its own copies. What is there stays; the agent's
// home is its own to write, so no link in it is followed out.
func (p Policy) copyFiles() error {
	root, err := os.OpenRoot(p.home())
	if err != nil {
		return err
	}
	defer root.Close() // Best effort: files are closed one by one.
	for _, path := range p.Copy {
		rel, err := filepath.Rel(p.Home, path)
		if err != nil || !filepath.IsLocal(rel) {
			return fault.Errorf(fault.Usage, "copy %s: it is not in %s", path, p.Home)
		}
		if _, err := root.Lstat(rel); err == nil {
			continue
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = root.MkdirAll(filepath.Dir(rel), 0o700)
		}
		if err == nil {
			err = root.WriteFile(rel, data, 0o600)
		}
		if err != nil {
			return fault.Errorf(fault.Storage, "copy %s: %w", path, err)
		}
	}
	return nil
}

// homeDirs are the directories of a home in which programs make links. Where the
// repository lies below the home they can be made only in directories that are
// there at the start.
var homeDirs = []string{".bun", ".cache", ".cargo", ".config", ".gem", ".gradle", ".local", ".npm", ".nvm", ".pyenv", ".rustup"}

// linkHome lets programs that look in the agent's own home find what is granted
// of the person's. Where that is mounted there no link must be in the way.
func (p Policy) linkHome() error {
	root, err := os.OpenRoot(p.home())
	if err != nil {
		return err
	}
	defer root.Close() // Best effort: nothing is written through it.
	if p.Held.Hides() && slices.ContainsFunc(p.trees(), func(t tree) bool { return below(t.common, p.Home) }) {
		for _, name := range homeDirs {
			if err := root.Mkdir(name, 0o700); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	paths := append(append([]string{}, p.Read...), p.Write...)
	for _, name := range gitConfig {
		if _, err := os.Stat(filepath.Join(p.Home, name)); err == nil {
			paths = append(paths, filepath.Join(p.Home, name))
		}
	}
	for _, path := range paths {
		if p.Home == "" || !below(path, p.Home) {
			continue
		}
		rel, err := filepath.Rel(p.Home, path)
		if err != nil {
			return err
		}
		info, err := root.Lstat(rel)
		switch {
		case err == nil && p.Held.Hides() && info.Mode()&os.ModeSymlink != 0:
			err = root.Remove(rel)
		case os.IsNotExist(err) && !p.Held.Hides():
			if err = root.MkdirAll(filepath.Dir(rel), 0o700); err == nil {
				err = root.Symlink(path, rel)
			}
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A Verdict says what an agent may do with a path, and what lets it.
type Verdict struct {
	Path  string `json:"path"`
	Read  bool   `json:"read"`
	Write bool   `json:"write"`
	By    string `json:"by,omitempty"` // the grant, or why there is none

	Protected bool `json:"protected,omitempty"` // nothing grants that it is written
	protector string
	hidden    bool
}

// Check says what the agent may do with a path of this machine. program is what
// it runs, "" for any.
func (p Policy) Check(path, program string, environ []string) Verdict {
	path = filepath.Clean(path)
	real := realPath(path)
	v := Verdict{Path: path, By: "nothing grants it"}
	best := -1
	for _, g := range p.grants(program, environ) {
		if g.names || !within(real, g.real) || len(g.real) < best {
			continue
		}
		if len(g.real) > best || g.write {
			best = len(g.real)
			v.Read, v.Write, v.By = true, g.write, g.why+" ("+g.path+")"
		}
	}
	for _, dir := range p.Hide {
		if within(real, realPath(dir)) && len(realPath(dir)) > best {
			return Verdict{Path: path, hidden: true, By: "den's own files are hidden (" + dir + ")"}
		}
	}
	protect, keep, _ := p.protected() // where that is not known, the agent does not start
	if p.Held.Hides() {
		protect = append(protect, keep...)
	}
	for _, name := range protect {
		if within(real, realPath(name)) {
			v.Write, v.Protected, v.protector = false, true, filepath.Clean(name)
			v.By = "it is protected: it decides what runs outside of the sandbox (" + v.protector + ")"
		}
	}
	if !v.Read && !v.Protected && v.private(p, real) {
		v.By = "nothing grants it; in the sandbox there is a directory of the agent's own in its place"
	}
	return v
}

func (v Verdict) private(p Policy, real string) bool {
	return within(real, "/tmp") || p.Home != "" && within(real, realPath(p.Home))
}

// common are the variables that every agent gets: what a program needs to find
// its terminal, its language and its network. Others, as the keys of clouds,
// have to be named.
var common = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "HOSTNAME", "TERM", "TERM_*", "TERMINFO", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
	"LANG", "LANGUAGE", "LC_*", "TZ", "EDITOR", "VISUAL", "PAGER", "LESS", "CI", "TMUX_PANE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_TERMINAL_PROMPT",
	"GOFLAGS", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN", "CGO_ENABLED", "NODE_OPTIONS", "VIRTUAL_ENV", "JAVA_HOME",
	"DEN_*",
}

// EnvNames is a variable with the names of others that were set for the agent,
// separated by commas: it gets these, too.
const EnvNames = "DEN_SANDBOX_ENV"

// InsideEnv is a variable that names the agent to whoever runs in its sandbox.
const InsideEnv = "DEN_SANDBOX"

// environ keeps the variables that a policy names. The last of a name wins, as
// in a program.
func (p Policy) environ(all []string) []string {
	kept := map[string]string{}
	var names []string
	given := strings.Split(lookup(all, EnvNames), ",")
	for _, entry := range all {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == EnvNames || !named(name, common) && !named(name, p.Env) && !slices.Contains(given, name) {
			continue
		}
		if _, there := kept[name]; !there {
			names = append(names, name)
		}
		kept[name] = value
	}
	for name, value := range p.own() {
		if _, there := kept[name]; !there {
			names = append(names, name)
		}
		kept[name] = value
	}
	slices.Sort(names)
	env := make([]string, 0, len(names))
	for _, name := range names {
		env = append(env, name+"="+kept[name])
	}
	return env
}

// Chosen are the variables of an environment that names stand for; see
// Policy.Env.
func Chosen(all, names []string) map[string]string {
	chosen := map[string]string{}
	for _, entry := range all {
		if name, value, ok := strings.Cut(entry, "="); ok && named(name, names) {
			chosen[name] = value
		}
	}
	return chosen
}

func named(name string, list []string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		begin, any := strings.CutSuffix(pattern, "*")
		return name == pattern || any && strings.HasPrefix(name, begin)
	})
}

// own are variables that the sandbox sets itself. Where it cannot put its own
// directories in the place of the machine's, it names them.
func (p Policy) own() map[string]string {
	if p.Held.Hides() {
		return map[string]string{"TMPDIR": "/tmp", InsideEnv: p.Agent}
	}
	env := map[string]string{"TMPDIR": p.tmp(), InsideEnv: p.Agent}
	if p.Home != "" {
		env["HOME"] = p.home()
	}
	return env
}
