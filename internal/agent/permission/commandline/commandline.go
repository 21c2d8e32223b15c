// Package commandline tells which commands a line of shell would run.
//
// It errs on one side only: it reports whatever it cannot know for certain as a
// problem or as a dynamic word, so that no rule takes a harmful line for
// harmless. It knows what bash, dash and zsh read alike, which is a small grammar
// (grammar.go); everything else is a problem.
package commandline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLine  = 16 << 10 // bytes; the parser's time grows faster than a line, and nobody reviews a longer one
	maxDepth = 4        // of shells within shells
	maxNest  = 100      // of parentheses, whose depth costs the parser more than their number
)

// Line is what a line of shell would run.
type Line struct {
	Commands []Command
	Files    []File // that it is redirected to or from
	// Problems are why it is not known what else the line does. A line with a
	// problem is covered by no rule that allows.
	Problems []string
}

// Command is a simple command: a program or a builtin, and its arguments.
type Command struct {
	// Words are its assignments, its name and its arguments.
	Words []Word
	// Runs are the commands that it runs in turn, as env, xargs and sh -c do.
	Runs []Command
	// How says what Runs has to do with it.
	How Relation
	// Inner is that it runs in a shell within the line's, whose directory and
	// variables end with it.
	Inner bool
	// Leaves is that the line may end before it: it runs in the background, or
	// by setsid or nohup, which keeps what it prints in a file.
	Leaves bool
}

// Relation is how a command and those that it runs belong together.
type Relation string

// The relations.
const (
	Plain     Relation = ""          // it runs no other
	Wraps     Relation = "wraps"     // it does nothing but run the others
	AlsoRuns  Relation = "also-runs" // it does something itself, as find does
	Escalates Relation = "escalates" // it runs the others with more rights, as sudo does
)

// Word is one word of a command.
type Word struct {
	Text string // without quotes
	// Dynamic is that the shell replaces it by what is not known here, perhaps
	// by many words or none: variables, substitutions, globs, braces.
	Dynamic bool
	// Unknown is of a dynamic word that nothing is known of what it becomes. Of
	// another one Text is what it becomes, with globs, with "~" at its beginning
	// and with Hole in the place of variables and braces.
	Unknown bool
	// Globs is that it has a glob outside quotes, or may become one.
	Globs  bool
	Assign bool // NAME=value before the command's name
}

// Hole stands for what is not known in the text of a dynamic word, and Pipe for
// the name of a pipe to a command.
const (
	Hole = "$…"
	Pipe = "<(…)"
)

// File is the target of a redirection.
type File struct {
	Path    string
	Write   bool
	Dynamic bool
	Unknown bool // see Word
}

// oddContinuation finds ends of lines that shells and the parser read in
// different ways: what may be a comment that ends with a backslash, more than
// one backslash, and one at the very end.
var oddContinuation = regexp.MustCompile(`#[^\n]*\\\n|\\\\\n|\\$`)

// Parse reads a line of shell as bash does. It never fails: what it cannot
// read is a problem of the line.
func Parse(line string) Line { return parse(line, 0) }

func parse(line string, depth int) Line {
	if len(line) > maxLine {
		return Line{Problems: []string{fmt.Sprintf("it is longer than %d bytes", maxLine)}}
	}
	if !utf8.ValidString(line) || strings.ContainsFunc(line, isControl) {
		return Line{Problems: []string{"it contains control characters"}}
	}
	if nesting(line) > maxNest {
		return Line{Problems: []string{"it has too many parentheses within parentheses"}}
	}
	if oddContinuation.MatchString(line) {
		return Line{Problems: []string{"it is not certain where a line with a backslash at its end ends"}}
	}
	if numericGlob.MatchString(strings.ReplaceAll(line, "\\\n", "")) {
		return Line{Problems: []string{"it has a pattern of zsh that other shells take for redirections"}}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return Line{Problems: []string{"it cannot be parsed as a shell command"}}
	}
	r := reader{text: line, depth: depth, context: map[syntax.Node]context{}}
	syntax.Walk(file, r.visit)
	return r.line
}

// isControl reports characters that no line needs and that shells, terminals
// and people do not read alike.
func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// nesting is how deep parentheses and braces are open, quoted or not.
func nesting(line string) int {
	open, deepest := 0, 0
	for i := range len(line) {
		switch line[i] {
		case '(', '{':
			open++
		case ')', '}':
			open = max(open-1, 0)
		}
		deepest = max(deepest, open)
	}
	return deepest
}

// reader collects what a syntax tree would run.
type reader struct {
	line    Line
	text    string // the line as it was given
	depth   int
	within  []syntax.Node           // the nodes that are being visited, the innermost last
	context map[syntax.Node]context // of nodes that are read in another way than where they stand
}

func (r *reader) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.line.Problems, text) {
		r.line.Problems = append(r.line.Problems, text)
	}
}

func (r *reader) call(c *syntax.CallExpr) {
	var words []Word
	for _, a := range c.Assigns {
		words = append(words, r.assignment(a))
	}
	for _, w := range c.Args {
		if lit := w.Lit(); lit == "{" || lit == "}" {
			r.problem("it has a brace that ends a block in some shells")
		}
		words = append(words, readWord(w))
	}
	if len(words) > 0 {
		command := r.command(words)
		command.Inner = slices.ContainsFunc(r.within, opensShell)
		if slices.ContainsFunc(r.within, inBackground) {
			command.Leaves = true
			leave(command.Runs)
		}
		r.line.Commands = append(r.line.Commands, command)
	}
}

// inBackground reports what a shell does not wait for.
func inBackground(node syntax.Node) bool {
	s, ok := node.(*syntax.Stmt)
	return ok && s.Background
}

// opensShell reports constructs that run in a shell of their own.
func opensShell(node syntax.Node) bool {
	switch node.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return true
	}
	return false
}

func (r *reader) assignment(a *syntax.Assign) Word {
	w := Word{Text: a.Name.Value + "=", Assign: true}
	switch {
	case a.Append, a.Naked, a.Index != nil, a.Array != nil:
		r.problem("it changes a variable in a way that den does not analyse")
		w.Dynamic = true
	case a.Value != nil:
		value := readWord(a.Value)
		w.Text += value.Text
		w.Dynamic = value.Dynamic
	}
	return w
}

// file notes what a redirection reads or writes.
func (r *reader) file(d *syntax.Redirect) {
	w := readWord(d.Word)
	if (d.Op == syntax.DplIn || d.Op == syntax.DplOut) && isDescriptor(w) {
		return
	}
	r.line.Files = append(r.line.Files, File{Path: w.Text, Dynamic: w.Dynamic, Unknown: w.Unknown, Write: d.Op != syntax.RdrIn && d.Op != syntax.DplIn})
}

// isDescriptor reports that a word after >& or <& names a descriptor and no
// file: "1" or "-". In zsh "2-" is a file.
func isDescriptor(w Word) bool { return !w.Dynamic && (isDigit(w.Text) || w.Text == "-") }

// isDigit reports a descriptor that every shell takes for one: of several
// digits some make an argument.
func isDigit(text string) bool { return len(text) == 1 && text[0] >= '0' && text[0] <= '9' }

// numericGlob is a pattern of zsh, which other shells take for redirections.
var numericGlob = regexp.MustCompile(`<[0-9]*-[0-9]*>`)
