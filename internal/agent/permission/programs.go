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
func (p places) code(u *use, base string, w commandline.Word) {
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
