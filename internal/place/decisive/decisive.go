// Package decisive finds the files that decide what runs or what is allowed, by
// their names and because a workspace reads them.
package decisive

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/base/statefile"
)

// A File is one that a workspace is made of, or a directory of such.
type File struct {
	Path string `json:"path"` // absolute
	Role string `json:"role"` // what the workspace does with it
	// Shown is that its text runs or is obeyed, so that whoever decides whether
	// to trust the workspace should see it.
	Shown bool `json:"shown,omitempty"`
}

// A Set knows the files of one workspace besides those that are known by name.
type Set struct {
	own []ownFile
}

type ownFile struct {
	File
	names []string // folded: as it is written, and where it leads
}

// NewSet returns the set of a workspace's files. resolve returns where a path
// leads, or "".
func NewSet(own []File, resolve func(string) string) Set {
	s := Set{own: make([]ownFile, len(own))}
	for i, f := range own {
		s.own[i] = ownFile{File: f, names: []string{fold(f.Path)}}
		if real := resolve(f.Path); real != f.Path && real != "" {
			s.own[i].names = append(s.own[i].names, fold(real))
		}
	}
	return s
}

// A Reason says why a file decides something.
type Reason struct {
	Own   string   // the file's role in the workspace, or ""
	Names []string // that are known, of the table
	Why   string   // for people
}

// Decides reports whether a file decides what runs or what is allowed, and why.
// file is absolute and clean. Of a file in dir only the names below it count:
// who put an agent into '.config/nvim' knows what it edits.
func (s Set) Decides(dir, file string) (Reason, bool) {
	file = fold(file)
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return isBelow(name, file) }) {
			return Reason{Own: own.Role, Why: "the workspace reads it: " + own.Role}, true
		}
	}
	if base := fold(dir); isBelow(base, file) {
		file = file[len(base):]
	}
	rows := byName(file)
	if len(rows) == 0 {
		return Reason{}, false
	}
	return Reason{Names: namesOf(rows), Why: "taken by " + rows[0].reader}, true
}

// Ends reports whether a file may decide something whose path ends with these
// names, and whose beginning is not known. They may have globs.
func (s Set) Ends(tail []string) (Reason, bool) {
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return Ends(name, tail) }) {
			return Reason{Own: own.Role, Why: "the workspace reads it: " + own.Role}, true
		}
	}
	names := foldAll(tail)
	for at := range names {
		for _, r := range table.Get().all {
			// A glob before the last name stands for a directory, and these have dots.
			below := len(names)-at > len(r.names) && !strings.HasPrefix(r.name, ".") && !strings.Contains(r.name, "/")
			if len(names)-at >= len(r.names) && meetAll(r.names, names[at:]) && !below {
				return Reason{Names: []string{r.name}, Why: "taken by " + r.reader}, true
			}
		}
	}
	return Reason{}, false
}

// Holds reports whether a directory, once it is there, may have files in it that
// decide something because of its name or its place, and says why.
func (s Set) Holds(dir, file string) (why string, found bool) {
	file = fold(file)
	for _, own := range s.own {
		if slices.ContainsFunc(own.names, func(name string) bool { return isBelow(file, name) }) {
			return "the workspace reads it: " + own.Role, true
		}
	}
	if base := fold(dir); isBelow(base, file) {
		file = file[len(base):]
	}
	names := strings.Split(file, "/")
	for _, r := range table.Get().all {
		for n := 1; n < len(r.names) && n <= len(names); n++ {
			if (row{names: r.names[:n]}).matches(names[len(names)-n:]) {
				return "taken by " + r.reader, true
			}
		}
	}
	return "", false
}

// Ends reports whether a path may be, or be above, one that ends with these
// names, which may have globs.
func Ends(file string, tail []string) bool {
	names := strings.Split(strings.Trim(fold(file), "/"), "/")
	tail = foldAll(tail)
	for n := min(len(names), len(tail)); n > 0; n-- {
		if last := names[len(names)-n:]; meetAll(last, tail) {
			return true
		}
	}
	return false
}

func foldAll(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fold(name)
	}
	return all
}

// meetAll reports whether the first names of a path may be these.
func meetAll(names, path []string) bool {
	for i, name := range names {
		if !meet(name, path[i]) {
			return false
		}
	}
	return true
}

// meet reports whether one name may match both globs, of '*' and '?'.
func meet(a, b string) bool {
	reached := make([]bool, len(b)+1) // the rest of a meets b from here on
	for i := len(a); i >= 0; i-- {
		next := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i < len(a) && a[i] == '*':
				next[j] = reached[j] || j < len(b) && next[j+1]
			case j < len(b) && b[j] == '*':
				next[j] = next[j+1] || i < len(a) && reached[j]
			case i == len(a) || j == len(b):
				next[j] = i == len(a) && j == len(b)
			default:
				next[j] = (a[i] == b[j] || a[i] == '?' || b[j] == '?') && reached[j+1]
			}
		}
		reached = next
	}
	return reached[0]
}

// Find returns the first file of the workspace of which is says yes.
func (s Set) Find(is func(path string) bool) (File, bool) {
	for _, own := range s.own {
		if is(own.Path) {
			return own.File, true
		}
	}
	return File{}, false
}

// ByName returns all names of the table that a path has.
func ByName(file string) []string { return namesOf(byName(fold(file))) }

func namesOf(rows []row) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.name)
	}
	return all
}

// row is a name of the table, taken apart.
type row struct {
	name, reader string
	names        []string
}

// index is the names of the table: all, those that begin with a plain name, by
// that name, and the others.
type index struct {
	all       []row
	literal   map[string][]row
	patterned []row
}

// table is made when it is first asked: most verbs need none of it.
var table = lazy.Value[index]{Make: func() index {
	t := index{literal: map[string][]row{}}
	for _, g := range Groups {
		for _, name := range g.Names {
			r := row{name: name, reader: g.Reader, names: strings.Split(fold(name), "/")}
			t.all = append(t.all, r)
			if strings.Contains(r.names[0], "*") {
				t.patterned = append(t.patterned, r)
			} else {
				t.literal[r.names[0]] = append(t.literal[r.names[0]], r)
			}
		}
	}
	return t
}}

func byName(file string) []row {
	var known []row
	names := strings.Split(file, "/")
	for at, name := range names {
		for _, r := range table.Get().literal[name] {
			if r.matches(names[at:]) {
				known = append(known, r)
			}
		}
		for _, r := range table.Get().patterned {
			if r.matches(names[at:]) {
				known = append(known, r)
			}
		}
	}
	return known
}

func (r row) matches(names []string) bool {
	if len(names) < len(r.names) {
		return false
	}
	for i, pattern := range r.names {
		if ok, err := path.Match(pattern, names[i]); !ok || err != nil {
			return false // the patterns are constants, and a test parses them
		}
	}
	return true
}

// fold makes all names alike that some file system takes for the same: in other
// letters, or with characters that nobody sees.
func fold(file string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII:
			return unicode.ToLower(r)
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, file)
}

// isBelow reports whether a file is dir or below it.
func isBelow(dir, file string) bool {
	rest, ok := strings.CutPrefix(file, dir)
	return ok && dir != "" && (rest == "" || rest[0] == '/' || dir == "/")
}

// In lists the files of a directory that are known by name. Their roles are who
// reads them.
func In(dir string) []File {
	quoted := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
	var all []File
	for _, g := range Groups {
		for _, name := range g.Names {
			found, _ := filepath.Glob(filepath.Join(quoted, name)) // the patterns are constants, and a test parses them
			for _, path := range found {
				all = append(all, File{Path: path, Role: g.Reader})
			}
		}
	}
	return all
}

const (
	listVersion = 1
	maxList     = 1 << 20
)

// list is what Save writes.
type list struct {
	Version int    `json:"v"`
	Files   []File `json:"files"`
}

// Save writes down which files a workspace is made of, for those who decide
// requests in other processes.
func Save(file string, own []File) error {
	if err := statefile.Replace(file, listVersion, list{Files: own}); err != nil {
		return fault.Errorf(fault.Storage, "write the list of the workspace's files: %w", err)
	}
	return nil
}

// Load reads what Save wrote.
func Load(file string) ([]File, error) {
	l, found, err := statefile.Load[list](file, listVersion, maxList)
	if err == nil && !found {
		err = fault.Errorf(fault.NotFound, "there is no %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of the workspace's files: %w", err)
	}
	return l.Files, nil
}

// A Group is a row of the table: who takes the files by itself, and how they
// are named.
type Group struct {
	// Reader is who reads the files, for people.
	Reader string
	// Names are paths of one or more names, to be found in any directory. They
	// ignore case; '*' stands for any characters of a name. Everything below a
	// directory that is named is meant too.
	Names []string
}

// Groups are the files that decide what a program runs or allows by itself: den
// at its next load, git in a directory, an editor that opens it, a shell that
// enters it, a coding agent that starts in it, or a server that gets it pushed.
//
// What runs only when somebody runs it (Makefile, package.json, .npmrc, build
// files) is not here: it is the agent's work, and running it is asked for. Nor
// are texts that only instruct (AGENTS.md, CLAUDE.md, .cursorrules): an agent
// that follows them still asks.
var Groups = []Group{
	{"den", []string{".den", "den.toml", "den.yaml", "den.yml", "agents.yaml", "agents.yml"}},
	{"git and its like", []string{
		// A directory with a HEAD can be a repository, whose configuration runs code.
		".git", "HEAD", ".gitattributes", ".gitmodules", ".gitconfig", ".config/git", ".bzr", ".pijul", ".config/jj", ".config/hg", ".hg", ".hgrc", ".jj", ".svn", ".sl",
	}},
	{"hooks of git", []string{
		".githooks", ".husky", ".huskyrc", ".huskyrc.js", ".huskyrc.json", ".huskyrc.y*ml", "husky.config.js", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
		"lefthook.y*ml", ".lefthook.y*ml",
		"lefthook-local.y*ml", ".lefthook-local.y*ml", "lefthook.toml", "lefthook.json", ".overcommit.yml", ".git-hooks", "prek.toml", ".captainhook.json", "captainhook.json",
		"grumphp.yml", ".rusty-hook.toml", ".cargo-husky",
		// Where core.hooksPath leads, and in a repository without a work tree.
		"hooks/applypatch-msg", "hooks/commit-msg", "hooks/fsmonitor-watchman", "hooks/post-applypatch", "hooks/post-checkout", "hooks/post-commit", "hooks/post-index-change",
		"hooks/post-merge", "hooks/post-receive", "hooks/post-rewrite", "hooks/post-update", "hooks/pre-applypatch", "hooks/pre-auto-gc", "hooks/pre-commit", "hooks/pre-merge-commit",
		"hooks/pre-push", "hooks/pre-rebase", "hooks/pre-receive", "hooks/prepare-commit-msg", "hooks/proc-receive", "hooks/push-to-checkout", "hooks/reference-transaction",
		"hooks/sendemail-validate", "hooks/update",
	}},
	{"coding agents", []string{
		".mcp.json", ".agents",
		".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".opencode", "opencode.json", "opencode.jsonc", ".config/opencode",
		".copilot", ".github/hooks", ".github/copilot", ".github/agents", ".cursor", ".amp", ".config/amp", ".cline", ".clinerules/hooks", ".roo", ".roomodes", ".kilocode",
		".kiro", ".windsurf", ".codeium", ".continue", ".aider.conf.y*ml", ".goose", ".config/goose", ".crush", "crush.json", ".crush.json",
		".augment", ".trae", ".junie", ".factory", ".openhands",
	}},
	{"editors", []string{
		".vscode", "*.code-workspace", ".idea", ".fleet", ".zed", ".helix", ".vim", ".vimrc", "_vimrc", ".exrc", "_exrc", ".gvimrc", "_gvimrc", ".ideavimrc", ".nvimrc", ".nvim",
		".config/vim", "vimfiles", ".nvim.lua", ".lvimrc", ".config/nvim",
		".dir-locals.el", ".dir-locals-2.el", ".emacs", ".emacs.d", ".emacs.el", ".config/emacs", ".config/helix", ".config/zed", ".config/Code", ".devcontainer", ".devcontainer.json",
	}},
	{"shells and logins", []string{
		".envrc", ".direnv", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh", ".autoenv.leave", ".env.leave", "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml",
		"mise/config.toml", "mise/config.*.toml", ".mise", ".config/mise", ".config/mise.toml", ".config/mise.*.toml", ".rtx.toml", ".shadowenv.d",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".zlogin.zwc",
		".zshrc.zwc", ".zshenv.zwc", ".kshrc", ".mkshrc", ".yashrc", ".inputrc",
		".cshrc", ".tcshrc", ".login", ".logout", ".oh-my-zsh", ".zsh", ".bashrc.d", ".bash_completion", ".bash_completion.d", ".config/bash", ".config/zsh", ".config/nushell",
		".config/xonsh", ".xonshrc", ".elvish", ".config/elvish", ".config/powershell",
		".config/fish", ".ssh", ".pam_environment", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".xserverrc", ".config/plasma-workspace", ".config/i3", ".config/sway",
		".config/hypr", ".config/openbox",
		".local/bin", ".local/share/systemd", ".local/share/applications", ".local/share/dbus-1", ".tmux.conf", ".config/tmux", ".screenrc", ".config/kitty", ".config/wezterm",
		".wezterm.lua", ".pythonrc", ".pdbrc", ".gdbinit", ".lldbinit", ".irbrc", ".pryrc", ".Rprofile", ".forward", ".procmailrc", ".config/systemd", ".config/autostart",
		".config/environment.d", "Library/LaunchAgents",
	}},
	{"servers that get it pushed", []string{
		".github/workflows", ".github/actions", ".gitlab-ci.y*ml", ".circleci", ".buildkite", ".travis.yml", ".drone.y*ml", ".drone.jsonnet", ".drone.star", ".woodpecker", ".woodpecker.y*ml",
		"Jenkinsfile", "azure-pipelines.y*ml", ".azure-pipelines", "bitbucket-pipelines.yml", ".cirrus.y*ml", ".cirrus.star", ".forgejo/workflows", ".forgejo/actions",
		".gitea/workflows", ".gitea/actions",
		".gitlab/ci", ".gitlab-ci", ".build.yml", ".builds", ".appveyor.yml", "appveyor.yml", ".semaphore", ".teamcity", ".buddy", "buddy.yml", ".tekton", ".screwdriver",
		"screwdriver.yaml", "wercker.yml", "codefresh.yml", ".codefresh",
		"buildspec.y*ml", "cloudbuild.yaml", "cloudbuild.json", "codemagic.yaml", "bitrise.yml", ".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d", ".packit.yaml",
		"readthedocs.y*ml", ".readthedocs.y*ml", "netlify.toml", "vercel.json", "render.yaml",
	}},
}
