package commandline

import (
	"path"
	"slices"
	"strings"
)

// wrapper is a command that runs the command in its arguments.
type wrapper struct {
	flags  string   // short options without a value
	values string   // short options with one
	long   []string // long options without a value
	skip   int      // arguments between the options and the command
	more   bool     // it adds arguments that are not known
	assign bool     // NAME=value may stand before the command
	leaves bool     // see Command
	line   bool     // what it runs may be one word for a shell, behind -c or alone
	how    Relation
}

// wrappers are those whose options are known. An option that is not listed is
// a problem: it might have a value, and that might be the command.
var wrappers = map[string]wrapper{
	"env":     {flags: "i0v", values: "u", long: []string{"ignore-environment"}, assign: true, how: Wraps},
	"nice":    {values: "n", how: Wraps},
	"nohup":   {leaves: true, how: Wraps},
	"setsid":  {flags: "cfw", leaves: true, how: Wraps},
	"time":    {flags: "pv", how: Wraps},
	"timeout": {flags: "fv", values: "ks", long: []string{"foreground", "preserve-status", "verbose"}, skip: 1, how: Wraps},
	"command": {flags: "p", how: Wraps},
	"builtin": {how: Wraps},
	"exec":    {flags: "cl", values: "a", how: Wraps},
	"stdbuf":  {values: "ioe", how: Wraps},
	"busybox": {how: Wraps},
	"toybox":  {how: Wraps},
	"xargs":   {flags: "0rtx", values: "nLPsdE", long: []string{"null", "no-run-if-empty"}, more: true, how: Wraps},
	"ionice":  {flags: "t", values: "cn", how: Wraps},
	"chrt":    {flags: "abdfiorRv", values: "DPT", skip: 1, how: AlsoRuns}, // it may take a processor for itself
	"taskset": {flags: "c", skip: 1, how: Wraps},
	"flock":   {flags: "sxeunoFv", values: "wE", skip: 1, line: true, how: AlsoRuns}, // it makes the file that it locks
	"watch":   {flags: "bcdegtwx", values: "nq", line: true, how: AlsoRuns},
	"strace":  {flags: "cCdfhiknqrtTvwxyzZ", values: "abeEIoOpPsSuUX", how: AlsoRuns},
	"sudo":    {flags: "nEHSkb", values: "ug", assign: true, how: Escalates},
	"doas":    {flags: "nL", values: "uC", how: Escalates},
}

// stateful are builtins that run code later, or change what later commands
// mean. Some are keywords, which a backslash before them makes builtins.
var stateful = []string{
	"declare", "typeset", "export", "readonly", "local", "nameref", "let", "integer", "float", "read", "mapfile", "readarray", "getopts", "vared", "unset",
	"alias", "unalias", "enable", "disable", "hash", "set", "shopt", "setopt", "unsetopt", "emulate", "trap", "zmodload", "autoload", "functions", "bind", "zle", "zstyle", "sched", "fc",
}

// foreignKeywords are keywords, and no commands, in shells other than bash.
var foreignKeywords = []string{"-", "repeat", "foreach", "end", "noglob", "nocorrect", "always", "and", "or", "not", "begin"}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish"}

// IsShell reports whether a command's name is that of a shell.
func IsShell(name string) bool { return slices.Contains(shells, path.Base(name)) }

// IsWrapper reports whether a command's name is that of one that runs what its
// arguments name.
func IsWrapper(name string) bool {
	name = path.Base(name)
	return wrappers[name].how == Wraps || wrappers[name].how == Escalates || name == "eval"
}

// command finds out what a command runs in turn.
func (r *reader) command(words []Word) Command {
	c := Command{Words: words}
	if c.nameAt() < 0 {
		return c
	}
	name, args := c.Name(), c.Args()
	if name.Dynamic {
		r.problem("a command's name is not known before it runs")
		return c
	}
	switch {
	case slices.Contains(foreignKeywords, name.Text):
		r.problem("'%s' is a keyword of some shells", name.Text)
	case strings.ContainsAny(name.Text, "{}"):
		r.problem("'%s' is a block in some shells", name.Text)
	case slices.Contains(stateful, name.Text):
		r.problem("'%s' can change what other commands do", name.Text)
	}
	base := path.Base(name.Text)
	if evaluates(base, args) {
		r.problem("'%s' can evaluate text of its arguments, which can run code", base)
	}
	wrap, known := wrappers[base]
	switch {
	case base == "eval":
		r.nested(&c, args)
	case IsShell(base):
		r.shell(&c, args)
	case base == "git":
		r.git(&c, args)
	case base == "find":
		r.find(&c, args)
	case base == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V"):
		// It only tells where a command is.
	case known && len(args) > 0:
		r.unwrap(&c, base, wrap, args)
	}
	return c
}

// nameAt is the place of a command's name, -1 if it has assignments only.
func (c Command) nameAt() int {
	return slices.IndexFunc(c.Words, func(w Word) bool { return !w.Assign })
}

// Name is the command's name; its Text is "" if there are assignments only.
func (c Command) Name() Word {
	if at := c.nameAt(); at >= 0 {
		return c.Words[at]
	}
	return Word{}
}

// Args are the command's arguments.
func (c Command) Args() []Word {
	if at := c.nameAt(); at >= 0 {
		return c.Words[at+1:]
	}
	return nil
}

// Assigns are the assignments before the command's name.
func (c Command) Assigns() []Word {
	if at := c.nameAt(); at >= 0 {
		return c.Words[:at]
	}
	return c.Words
}

// String is the command for people, with its quotes removed.
func (c Command) String() string {
	var all []string
	for _, w := range c.Words {
		all = append(all, w.Text)
	}
	return strings.Join(all, " ")
}

func (r *reader) unwrap(c *Command, name string, w wrapper, args []Word) {
	rest, ok := skipOptions(w, args)
	if ok && len(rest) >= w.skip {
		rest = rest[w.skip:]
	} else {
		ok = false
	}
	if !ok || r.depth >= maxDepth {
		r.problem("it is not known what '%s' runs", name)
		return
	}
	if len(rest) == 0 {
		return // env and command print something; nothing is run
	}
	if w.line && rest[0].Text == "-c" {
		rest = rest[1:]
	}
	if w.line && len(rest) == 1 && !rest[0].Dynamic {
		r.alsoRuns(c, rest[0].Text)
		return
	}
	if len(rest) == 0 {
		r.problem("it is not known what '%s' runs", name)
		return
	}
	inner := slices.Concat(c.Assigns(), rest)
	if w.assign {
		markAssigns(inner[len(c.Assigns()):])
	}
	if w.more {
		inner = append(inner, Word{Text: "…", Dynamic: true, Unknown: true})
	}
	r.depth++
	defer func() { r.depth-- }()
	c.How, c.Runs = w.how, []Command{r.command(inner)}
	if w.leaves || c.Leaves {
		leave(c.Runs)
	}
}

func leave(commands []Command) {
	for i := range commands {
		commands[i].Leaves = true
		leave(commands[i].Runs)
	}
}

// markAssigns marks the words of the form NAME=value at the beginning.
func markAssigns(words []Word) {
	for i := range words {
		name, _, ok := strings.Cut(words[i].Text, "=")
		if !ok || name == "" || words[i].Assign {
			return
		}
		words[i].Assign = true
	}
}

// skipOptions returns what follows a wrapper's options, false if one of them
// is not known.
func skipOptions(w wrapper, args []Word) (rest []Word, ok bool) {
	for len(args) > 0 {
		word := args[0]
		switch {
		case word.Dynamic:
			return nil, false
		case word.Text == "--":
			return args[1:], true
		case strings.HasPrefix(word.Text, "--"):
			if !slices.Contains(w.long, word.Text[2:]) {
				return nil, false
			}
			args = args[1:]
		case strings.HasPrefix(word.Text, "-") && len(word.Text) > 1:
			n, known := shortOptions(w, word.Text[1:])
			if !known || n > len(args) {
				return nil, false
			}
			args = args[n:]
		default:
			return args, true
		}
	}
	return args, true
}

// shortOptions returns how many words a cluster of short options takes.
func shortOptions(w wrapper, cluster string) (words int, known bool) {
	for i := range len(cluster) {
		switch c := cluster[i]; {
		case strings.IndexByte(w.values, c) >= 0:
			if i+1 < len(cluster) {
				return 1, true
			}
			return 2, true
		case strings.IndexByte(w.flags, c) < 0:
			return 0, false
		}
	}
	return 1, true
}

// nested reads the words of eval, which are shell again.
func (r *reader) nested(c *Command, words []Word) {
	var all []string
	for i, w := range words {
		if w.Dynamic || i == 0 && strings.HasPrefix(w.Text, "-") {
			r.problem("it is not known what 'eval' runs")
			return
		}
		all = append(all, w.Text)
	}
	r.runLine(c, strings.Join(all, " "))
}

// harmlessLong are long options of shells that read no file.
var harmlessLong = []string{"--login", "--noprofile", "--norc", "--posix"}

// shell reads the argument of -c. A shell that runs a script or its input is a
// command like any other.
func (r *reader) shell(c *Command, args []Word) {
	for i := 0; i < len(args); i++ {
		w := args[i].Text
		switch {
		case args[i].Dynamic:
			r.problem("it is not known what '%s' runs", c.Name().Text)
			return
		case slices.Contains(harmlessLong, w):
		case w == "" || w[0] != '-' && w[0] != '+':
			return // a script
		case strings.HasPrefix(w, "--"):
			r.problem("it is not known what '%s %s' runs", c.Name().Text, w)
			return
		case strings.Contains(w, "c"):
			r.shellLine(c, args[i+1:])
			return
		case strings.ContainsAny(w, "oO"):
			i++ // the name of a shell option
		}
	}
}

func (r *reader) shellLine(c *Command, args []Word) {
	if len(args) == 0 || args[0].Dynamic || strings.HasPrefix(args[0].Text, "-") {
		r.problem("it is not known what '%s' runs", c.Name().Text)
		return
	}
	r.runLine(c, args[0].Text)
}

// runLine adds what a line within the line would run.
func (r *reader) runLine(c *Command, line string) {
	if r.depth >= maxDepth {
		r.problem("it has shells within shells within shells")
		return
	}
	inner := parse(line, r.depth+1)
	for i := range inner.Commands {
		inner.Commands[i].Inner = inner.Commands[i].Inner || IsShell(c.Name().Text)
	}
	r.line.Files = append(r.line.Files, inner.Files...)
	for _, p := range inner.Problems {
		r.problem("%s", p)
	}
	if assigns := c.Assigns(); len(assigns) > 0 {
		inner.Commands = append(inner.Commands, Command{Words: assigns})
	}
	c.How, c.Runs = Wraps, inner.Commands
}

// find adds the commands of -exec and its like.
func (r *reader) find(c *Command, args []Word) {
	for i := 0; i < len(args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, args[i].Text) {
			continue
		}
		end := i + 1
		for end < len(args) && args[end].Text != ";" && args[end].Text != "+" {
			end++
		}
		if end == i+1 || r.depth >= maxDepth {
			r.problem("it is not known what 'find' runs")
			return
		}
		if strings.HasSuffix(args[i].Text, "dir") {
			r.problem("it is not known in which directories 'find' runs it")
		}
		inner := slices.Clone(args[i+1 : end])
		for j := range inner {
			if strings.Contains(inner[j].Text, "{}") {
				inner[j].Dynamic, inner[j].Unknown = true, true
			}
		}
		r.depth++
		c.Runs = append(c.Runs, r.command(inner))
		r.depth--
		c.How = AlsoRuns
		i = end
	}
}

// alsoRuns adds what a command runs of a line besides what it does itself.
func (r *reader) alsoRuns(c *Command, line string) {
	inner := *c
	r.runLine(&inner, line)
	c.How, c.Runs = AlsoRuns, append(c.Runs, inner.Runs...)
}

// gitLines are options of subcommands of git, with a value that a shell runs.
var gitLines = map[string][]string{
	"rebase": {"-x", "--exec"}, "difftool": {"-x", "--extcmd"}, "filter-branch": {"--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--parent-filter", "--commit-filter", "--tag-name-filter", "--setup"},
}

// git adds what git's own commands run that their arguments name.
func (r *reader) git(c *Command, args []Word) {
	at := slices.IndexFunc(args, func(w Word) bool { _, ok := gitLines[w.Text]; return ok || w.Text == "bisect" || w.Text == "submodule" })
	for i, w := range args {
		if at >= 0 && i > at {
			break
		}
		if _, value, ok := strings.Cut(w.Text, "=!"); ok && i > 0 && args[i-1].Text == "-c" { // an alias
			r.alsoRuns(c, value)
		}
	}
	if at < 0 {
		return
	}
	name, rest := args[at].Text, args[at+1:]
	switch {
	case name == "bisect" && len(rest) > 1 && rest[0].Text == "run" && r.depth < maxDepth:
		r.depth++
		c.How, c.Runs = AlsoRuns, append(c.Runs, r.command(slices.Clone(rest[1:])))
		r.depth--
	case name == "submodule":
		for i, w := range rest {
			if w.Text != "foreach" {
				continue
			}
			rest = rest[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
				rest = rest[1:]
			}
			var words []string
			for _, w := range rest {
				if w.Dynamic {
					r.problem("it is not known what 'git submodule' runs")
				}
				words = append(words, w.Text)
			}
			r.alsoRuns(c, strings.Join(words, " "))
			return
		}
	}
	for i, w := range rest {
		option, value, joined := strings.Cut(w.Text, "=")
		for _, known := range gitLines[name] {
			short := len(known) == 2 && strings.HasPrefix(w.Text, known) && len(w.Text) > 2
			switch {
			case short:
				value = w.Text[2:]
			case option != known && !(len(option) > 3 && strings.HasPrefix(known, option)):
				continue
			case !joined && i+1 < len(rest):
				value = rest[i+1].Text
				w = rest[i+1]
			}
			if w.Dynamic {
				r.problem("it is not known what 'git %s' runs", name)
			}
			r.alsoRuns(c, value)
			break
		}
	}
}
