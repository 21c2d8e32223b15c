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
