package commandline

import (
	"slices"
	"strings"
)

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
