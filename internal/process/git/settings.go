package git

import (
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/lazy"
)

// A rule says which values of a setting are taken over.
type rule struct {
	ok   func(string) bool
	user bool // from the user's files only
}

func oneOf(values ...string) func(string) bool {
	return func(v string) bool { return slices.Contains(values, strings.ToLower(v)) }
}

var permissions = lazy.Regexp{Expr: `^0[0-7]{3}$`}

// taken are the settings that a view takes over: how files are compared with
// what is stored. None names a program.
var taken = lazy.Value[map[string]rule]{Make: func() map[string]rule {
	return map[string]rule{
		"core.filemode":           {ok: isBool},
		"core.ignorecase":         {ok: isBool},
		"core.symlinks":           {ok: isBool},
		"core.precomposeunicode":  {ok: isBool},
		"core.trustctime":         {ok: isBool},
		"core.checkstat":          {ok: oneOf("default", "minimal")},
		"core.autocrlf":           {ok: func(v string) bool { return isBool(v) || strings.EqualFold(v, "input") }},
		"core.eol":                {ok: oneOf("lf", "crlf", "native")},
		"core.sparsecheckout":     {ok: isBool},
		"core.sparsecheckoutcone": {ok: isBool},
		"core.sharedrepository": {ok: func(v string) bool {
			return isBool(v) || permissions.Get().MatchString(v) || oneOf("umask", "group", "all", "world", "everybody")(v)
		}},
		"core.excludesfile":   {ok: func(string) bool { return true }, user: true},
		"core.attributesfile": {ok: func(string) bool { return true }, user: true},
	}
}}

// extensions of a repository that git may find or not, as den reads it.
var extensions = lazy.Value[map[string]func(string) bool]{Make: func() map[string]func(string) bool {
	return map[string]func(string) bool{
		"extensions.objectformat":      oneOf("sha1", "sha256"),
		"extensions.worktreeconfig":    isBool,
		"extensions.relativeworktrees": isBool,
		"extensions.preciousobjects":   isBool,
		"extensions.noop":              func(string) bool { return true },
		"extensions.partialclone":      func(string) bool { return true }, // what is missing is an error
	}
}}

// settings is the configuration of a view. It also sets v.Config.
func (v *View) settings() (string, error) {
	user, err := v.git.userConfig()
	if err != nil {
		return "", err
	}
	if v.Config, err = readConfig(filepath.Join(v.repo.Common, "config")); err != nil {
		return "", err
	}
	format, err := v.Config.format()
	if err != nil {
		return "", err
	}
	if isTrue(v.Config.Last("extensions.worktreeconfig")) {
		more, err := readConfig(filepath.Join(v.repo.Dir, "config.worktree"))
		if err != nil {
			return "", err
		}
		v.Config = append(v.Config, more...)
	}
	var b strings.Builder
	b.WriteString(fixedSettings(v.repo.Top == "", format))
	for _, from := range []struct {
		config Config
		user   bool
	}{{user, true}, {v.Config, false}} {
		for _, s := range from.config {
			if r, ok := taken.Get()[s.key]; ok && (from.user || !r.user) && r.ok(s.value) {
				b.WriteString("\t" + strings.TrimPrefix(s.key, "core.") + " = " + quote(s.value) + "\n")
			}
		}
	}
	return b.String(), nil
}

// fixedSettings ends within the section core.
func fixedSettings(bare bool, format string) string {
	s := "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n\tuseReplaceRefs = false\n\tuntrackedCache = false\n\thooksPath = /dev/null\n\tfsmonitor = false\n" +
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
	if bare {
		s = strings.Replace(s, "bare = false", "bare = true", 1)
	}
	return s + "[extensions]\n\tobjectFormat = " + format + "\n[core]\n"
}

// format is how a repository names its objects. It is an error if den does not
// know how to read the repository.
func (c Config) format() (string, error) {
	if v := c.Last("core.repositoryformatversion"); v != "" && v != "0" && v != "1" {
		return "", fault.Errorf(fault.Unsupported, "its format has the version %q, which den does not know", v)
	}
	for _, s := range c {
		if strings.HasPrefix(s.key, "extensions.") && (extensions.Get()[s.key] == nil || !extensions.Get()[s.key](s.value)) {
			return "", fault.Errorf(fault.Unsupported, "its configuration has %s = %q, which den does not know", s.key, s.value)
		}
	}
	if strings.EqualFold(c.Last("extensions.objectformat"), "sha256") {
		return "sha256", nil
	}
	return "sha1", nil
}

// maxIncludes bounds the files of the user's configuration.
const maxIncludes = 50

// userConfig reads the configuration of the machine and of the user, as far as
// it does not depend on a repository.
func (g Git) userConfig() (Config, error) {
	home, left := g.getenv("HOME"), maxIncludes
	var all Config
	for _, path := range g.userFiles(home) {
		c, err := readUser(path, home, &left)
		if err != nil {
			return nil, err
		}
		all = append(all, c...)
	}
	return all, nil
}

// userFiles are the files of the user's configuration, in git's order.
func (g Git) userFiles(home string) []string {
	var files []string
	if system := g.getenv("GIT_CONFIG_SYSTEM"); system != "" {
		files = append(files, system)
	} else if !isTrue(g.getenv("GIT_CONFIG_NOSYSTEM")) {
		files = append(files, "/etc/gitconfig")
	}
	if global := g.getenv("GIT_CONFIG_GLOBAL"); global != "" {
		return append(files, global)
	}
	if xdg := g.getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	return files
}

func (g Git) getenv(name string) string {
	for _, kv := range slices.Backward(g.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// readUser reads a file of the user's with those that it includes.
func readUser(path, home string, left *int) (Config, error) {
	if *left--; *left < 0 {
		return nil, fault.Errorf(fault.Storage, "git's configuration %s: more than %d files are included", path, maxIncludes)
	}
	if path == "/dev/null" {
		return nil, nil
	}
	c, err := readConfig(path)
	var all Config
	for _, s := range c {
		all = append(all, s)
		if s.key != "include.path" || err != nil {
			continue
		}
		to := s.value
		if rest, ok := strings.CutPrefix(to, "~/"); ok {
			to = filepath.Join(home, rest)
		}
		var more Config
		more, err = readUser(below(filepath.Dir(path), to), home, left)
		all = append(all, more...)
	}
	return all, err
}
