package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"den/internal/agent/permission/commandline"
)

// interpreters run any code that they are given. A pattern for one has to
// name the script.
var interpreters = []string{"python", "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "osascript", "source", ".", "trap", "awk", "gawk", "mawk", "nawk"}

// codePrograms are others whose words may be programs, too: scripts of editors
// and commands of databases.
var codePrograms = []string{
	"sed", "gsed", "ssed", "ed", "red", "ex", "vi", "vim", "nvim", "view", "rvim", "rview", "gvim", "vimdiff", "emacs", "goawk", "frawk", "tsx", "ts-node", "irb", "jruby", "raku",
	"rscript", "r", "julia", "octave", "tclsh", "wish", "expect", "guile", "racket", "sbcl", "clisp", "elixir", "erl", "ghc", "scala", "groovy", "jshell", "gnuplot", "sqlite", "duckdb", "psql", "gdb", "lldb",
}

// programName is the name of a program without its directory and version.
func programName(text string) string {
	if text == "." {
		return text
	}
	return strings.TrimRight(strings.ToLower(path.Base(text)), "0123456789.")
}

// takesCode reports a program whose words may be programs.
func takesCode(c *commandline.Command) bool {
	name := programName(c.Name().Text)
	return slices.Contains(interpreters, name) || slices.Contains(codePrograms, name)
}

const (
	maxName       = 4096 // bytes of a path; no system takes more
	quotes        = "\"'`\n"
	codeSeparator = quotes + " \t;,:()[]{}<>|&=!?*^%#$@\\"
)

// code notes the files that a program in a word names: what is written in
// quotes, what stands alone, and what follows the command of an editor that
// writes ('w.git/config').
func (p directories) code(u *use, base string, w commandline.Word) {
	seen := map[string]bool{"": true}
	add := func(name string, afterHole bool) {
		if seen[name] || len(name) > maxName {
			return
		}
		seen[name] = true
		u.parts = append(u.parts, p.resolve(base, name))
		if tail := strings.Trim(name, "/"); afterHole && tail != "" && !strings.ContainsAny(tail, "*?[") {
			u.parts = append(u.parts, target{given: w.Text, tail: strings.Split(tail, "/")})
		}
	}
	for i, text := range strings.Split(w.Text, commandline.Hole) {
		for _, separators := range []string{quotes, codeSeparator} {
			for n, piece := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
				add(piece, i > 0 && n == 0 && strings.HasPrefix(text, piece))
				for at := range piece {
					if piece[at] == 'w' || piece[at] == 'W' {
						add(strings.TrimLeft(piece[at+1:], "q! \t"), false)
					}
				}
			}
		}
	}
}

// A rule with a star covers sed only with scripts of a simple form: others run
// commands ('e', 's///e') and write files ('w').
var simpleSed = func() *regexp.Regexp {
	body := func(delimiter string) string { // of a regular expression: delimiters in brackets end it in some programs only
		return `(?:\\[^\n]|\[\^?\]?(?:\[:[a-z]+:\]|[^\]\[\n` + delimiter + `])*\]|[^\\\[\n` + delimiter + `])*`
	}
	var substitutes []string
	for _, d := range []string{"/", "|", "#", ",", ":", "@", "!", "%", "~"} {
		q := regexp.QuoteMeta(d)
		substitutes = append(substitutes, `s`+q+body(d)+q+`(?:\\[^\n]|[^\\\n`+d+`])*`+q+`[gpiI0-9]*`)
	}
	address := `(?:[0-9]+(?:~[0-9]+)?|\$|/` + body("/") + `/I?)`
	command := `\s*(?:` + address + `(?:,(?:[+~][0-9]+|` + address + `))?\s*!?\s*)?(?:[pd=]|q[0-9]*|` + strings.Join(substitutes, "|") + `)[ \t]*`
	return regexp.MustCompile(`^(?:` + command + `(?:[;\n]|$)|\s*(?:[;\n]|$))*$`)
}()

// sedFlags are its options without a value; sedLong those and others in full.
const sedFlags = "nErsuz"

var sedLong = []string{"--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data", "--zero-terminated", "--posix", "--debug", "--sandbox", "--in-place", "--in-place=.bak", "--in-place=.orig"}

// sedAllowed reports whether a pattern that matches a command of sed covers it:
// a script that is not simple has to be written out.
func sedAllowed(pattern commandPattern, c commandline.Command) bool {
	args, isSed := sedArgs(c)
	starred := slices.ContainsFunc(pattern, func(g glob) bool { return !g.literal() })
	if !starred || !isSed {
		return true
	}
	var scripts, files []commandline.Word
	for i := 0; i < len(args); i++ {
		w := args[i]
		text, long := strings.CutPrefix(w.Text, "--expression=")
		letters := strings.TrimLeft(strings.TrimPrefix(w.Text, "-"), sedFlags)
		isScript := len(letters) > 0 && letters[0] == 'e' || w.Text == "--expression"
		switch {
		case w.Text == "--" && !w.Dynamic:
			files = append(files, args[i+1:]...)
			i = len(args)
		case !strings.HasPrefix(w.Text, "-") || w.Text == "-":
			if w.Dynamic && (w.Unknown || strings.Contains(w.Text, commandline.Hole) || strings.ContainsAny(w.Text[:min(1, len(w.Text))], "*?[")) {
				return false // it may be an option
			}
			files = append(files, w)
		case w.Dynamic:
			return false
		case long:
			scripts = append(scripts, commandline.Word{Text: text})
		case isScript && (len(letters) == 1 || w.Text == "--expression"):
			if i++; i == len(args) {
				return false
			}
			scripts = append(scripts, args[i])
		case isScript:
			scripts = append(scripts, commandline.Word{Text: letters[1:]})
		case letters == "", slices.Contains([]string{"i", "i.bak", "i.orig", "i~"}, letters), slices.Contains(sedLong, w.Text):
		default:
			return false
		}
	}
	if len(scripts) == 0 && len(files) > 0 {
		scripts = files[:1]
	}
	return !slices.ContainsFunc(scripts, func(w commandline.Word) bool {
		return w.Dynamic || !simpleSed.MatchString(w.Text) && !slices.ContainsFunc(pattern, func(g glob) bool { return g.literal() && g[0] == w.Text })
	})
}

// sedArgs are the arguments of sed where a command is one of it, with sudo too.
func sedArgs(c commandline.Command) (args []commandline.Word, ok bool) {
	name, args := c.Name().Text, c.Args()
	if escalating(name) && len(args) > 0 {
		name, args = args[0].Text, args[1:]
	}
	return args, slices.Contains([]string{"sed", "gsed", "ssed"}, programName(name))
}

// git runs what a repository's configuration and its own options say. So a
// command of git is allowed only where it is known which repository it works
// on, and under its own name.

// gitPlain are options before git's subcommand that change nothing but what is
// printed and how paths are matched.
var gitPlain = []string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-replace-objects"}

// gitElsewhere are options that have git work on another repository.
var gitElsewhere = []string{"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--bare"}

// gitCommands are commands of git's own, which no alias can replace. A pattern
// with a star in place of the subcommand covers these.
var gitCommands = strings.Fields(`add am annotate apply blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean clone commit commit-tree
	count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object log ls-files ls-remote ls-tree merge merge-base
	merge-tree mv name-rev notes patch-id prune pull push range-diff read-tree rebase reflog remote repack reset restore rev-list rev-parse revert rm shortlog show
	show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index update-ref var verify-commit verify-tag whatchanged worktree write-tree`)

// gitCode are options of its subcommands that name a program, or a file that
// git writes to wherever it is.
var gitCode = []string{"--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "--output", "--output-directory", "--template", "--config", "--extcmd", "--strategy"}

// gitCodeLetters are such options of one letter.
var gitCodeLetters = map[string]string{"rebase": "x", "grep": "O", "clone": "uc", "format-patch": "o", "merge": "s", "pull": "s"}

func isGit(name commandline.Word) bool { return strings.ToLower(path.Base(name.Text)) == "git" }

// gitAllowed reports whether a pattern that matches a command of git covers it:
// what it may not do by the way has to be written out.
func (p directories) gitAllowed(pattern commandPattern, u use) bool {
	if u.elsewhere || !p.repository {
		return false
	}
	written := func(i int) bool { return i < len(pattern) && pattern[i].literal() }
	words, i := u.command.Words, len(u.command.Assigns())+1
	for ; i < len(words) && isOption(words[i]); i++ {
		name, _, joined := strings.Cut(words[i].Text, "=")
		switch {
		case slices.Contains(gitPlain, name):
		case slices.Contains(gitElsewhere, name), !written(i):
			return false
		case !joined && slices.Contains(globalOptions["git"].values, name):
			if i++; !written(i) {
				return false
			}
		}
	}
	if i >= len(words) {
		return true // git alone
	}
	subcommand := words[i]
	if subcommand.Dynamic || !written(i) && !slices.Contains(gitCommands, subcommand.Text) {
		return false
	}
	for j := i + 1; j < len(words); j++ {
		if !written(j) && isGitCode(subcommand.Text, words[j].Text) {
			return false
		}
	}
	return true
}

// isGitCode reports whether a word may be an option that names a program or a
// file to write. git takes long options that are cut short.
func isGitCode(subcommand, word string) bool {
	switch {
	case strings.HasPrefix(word, "--"):
		name, _, _ := strings.Cut(word, "=")
		return len(name) > 2 && slices.ContainsFunc(gitCode, func(code string) bool { return strings.HasPrefix(code, name) })
	case strings.HasPrefix(word, "-"):
		return strings.ContainsAny(word, gitCodeLetters[subcommand])
	}
	return false
}

// mayBeAnything reports whether a command of git may do what another one does:
// by an alias, which it defines itself or which the configuration has.
func mayBeAnything(words []commandline.Word) bool {
	if !isGit(words[0]) {
		return false
	}
	for i := 1; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i].Text, "=")
		switch {
		case !isOption(words[i]):
			return words[i].Dynamic || !slices.Contains(gitCommands, words[i].Text) && !slices.Contains(gitOwn, words[i].Text)
		case name == "-c" || name == "--config-env" || name == "--exec-path" && joined:
			return true
		case !joined && slices.Contains(globalOptions["git"].values, name):
			i++
		}
	}
	return false
}

// gitOwn are further commands of git's own, which a star does not cover.
var gitOwn = []string{"config", "init", "submodule", "bisect", "difftool", "mergetool", "archive", "filter-branch", "help", "version", "send-email", "credential", "daemon", "hook", "maintenance"}

// globals are the options of a program that may stand before its subcommand.
type globals struct {
	flags  []string // without a value
	values []string // with one, in the next word or behind '='
}

// globalOptions are those of programs that rules name with a subcommand. An
// option that is not listed may have a value or not: then both is considered.
var globalOptions = map[string]globals{
	"git": {
		flags: []string{"-p", "--paginate", "-P", "--no-pager", "--no-replace-objects", "--bare", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs",
			"--icase-pathspecs", "--no-optional-locks", "--exec-path", "--no-lazy-fetch", "--no-advice"},
		values: []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"},
	},
	"docker": {
		flags:  []string{"-D", "--debug", "--tls", "--tlsverify"},
		values: []string{"-c", "--context", "-H", "--host", "-l", "--log-level", "--config", "--tlscacert", "--tlscert", "--tlskey"},
	},
	"podman": {
		flags: []string{"-r", "--remote", "--noout", "--syslog", "--transient-store"},
		values: []string{"-c", "--connection", "--url", "--identity", "--log-level", "--root", "--runroot", "--storage-driver", "--storage-opt", "--tmpdir", "--runtime",
			"--cgroup-manager", "--conmon", "--events-backend", "--hooks-dir", "--imagestore", "--network-config-dir", "--module", "--out", "--ssh", "--volumepath"},
	},
	"kubectl": {
		flags: []string{"--insecure-skip-tls-verify", "--match-server-version", "--warnings-as-errors", "--disable-compression"},
		values: []string{"-n", "--namespace", "--context", "--cluster", "--user", "--kubeconfig", "-s", "--server", "--token", "--as", "--as-group", "--as-uid", "--certificate-authority",
			"--client-certificate", "--client-key", "--request-timeout", "--cache-dir", "-v", "--v", "--tls-server-name", "--profile", "--profile-output", "--password", "--username"},
	},
	"npm": {
		flags:  []string{"-g", "--global", "-s", "--silent", "-q", "--quiet", "-d", "--verbose", "-f", "--force", "-ws", "--workspaces", "--json", "-y", "--yes", "--ignore-scripts"},
		values: []string{"-C", "--prefix", "--registry", "--cache", "--loglevel", "-w", "--workspace", "--userconfig", "--globalconfig", "--script-shell", "--otp", "--tag"},
	},
	"go": {values: []string{"-C"}},
	"systemctl": {
		flags: []string{"--user", "--system", "--no-pager", "--no-block", "-q", "--quiet", "-a", "--all", "-l", "--full", "-f", "--force", "--now", "--no-ask-password", "--runtime", "--no-legend",
			"--no-wall", "--global", "--no-reload", "--plain", "--wait"},
		values: []string{"-H", "--host", "-M", "--machine", "-t", "--type", "--state", "-p", "--property", "-n", "--lines", "-o", "--output", "--root", "-s", "--signal", "--job-mode"},
	},
	"cargo": {
		flags:  []string{"-v", "-vv", "--verbose", "-q", "--quiet", "--locked", "--offline", "--frozen"},
		values: []string{"-C", "--color", "--config", "-Z"},
	},
	"gh": {values: []string{"-R", "--repo", "--hostname"}},
}

// withoutGlobals returns a command, its name first, without the options before
// its subcommand. It is false where one of them is not known.
func withoutGlobals(words []commandline.Word) ([]commandline.Word, bool) {
	known := globalOptions[strings.ToLower(path.Base(words[0].Text))]
	rest := words[1:]
	for len(rest) > 0 && isOption(rest[0]) {
		name, _, joined := strings.Cut(rest[0].Text, "=")
		switch {
		case slices.Contains(known.flags, name), joined && slices.Contains(known.values, name):
			rest = rest[1:]
		case slices.Contains(known.values, name) && len(rest) > 1 && !rest[1].Dynamic:
			rest = rest[2:]
		default:
			return words, false
		}
	}
	return append([]commandline.Word{words[0]}, rest...), true
}

// isOption reports that a word may be an option, or a toolchain of cargo's.
func isOption(w commandline.Word) bool {
	return len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+') && !w.Dynamic
}

// resembles reports whether a command, its name first, may do what a pattern
// describes although it is not written so: with options in between, which may
// have values, or with names cut short, as many programs accept them.
func (p commandPattern) resembles(words []commandline.Word) bool {
	if len(p) == 0 || len(words) == 0 || !words[0].Dynamic && !p[0].fold().match(strings.ToLower(words[0].Text)) {
		return false
	}
	// at[j] is that the pattern up to here may end before word j.
	at := make([]bool, len(words)+1)
	at[1] = true
	for i, g := range p[1:] {
		if g.any() && i == len(p)-2 {
			return slices.Contains(spread(at, words, false), true)
		}
		isOptionPattern := strings.HasPrefix(g[0], "-")
		at = spread(at, words, isOptionPattern)
		next := make([]bool, len(at))
		for j, w := range words {
			next[j+1] = at[j] && (w.Dynamic || g.fold().match(strings.ToLower(w.Text)) || isAbbreviation(w.Text, g))
		}
		at = next
	}
	return spread(at, words, false)[len(words)]
}

// spread adds the places that are reached by skipping options, each with the
// word behind it or without, words that may be nothing, and where all is set,
// any word.
func spread(at []bool, words []commandline.Word, all bool) []bool {
	out := slices.Clone(at)
	for j, w := range words {
		if !out[j] {
			continue
		}
		if all || w.Dynamic || isOption(w) {
			out[j+1] = true
		}
		if isOption(w) && j+2 <= len(words) {
			out[j+2] = true
		}
	}
	return out
}

// isAbbreviation reports that text is the beginning of a name or of a long
// option.
func isAbbreviation(text string, g glob) bool {
	text, _, _ = strings.Cut(text, "=")
	least := 1
	if strings.HasPrefix(text, "-") {
		least = 3
	}
	return g.literal() && len(text) >= least && strings.HasPrefix(g[0], text)
}
