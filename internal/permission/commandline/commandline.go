// Package commandline tells which commands a line of shell would run.
//
// It errs on one side only: what it cannot know for certain it reports as a
// problem or as a dynamic word, so that no rule can take a line for harmless
// that is not.
package commandline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

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
	Assign  bool // NAME=value before the command's name
}

// File is the target of a redirection.
type File struct {
	Path    string
	Write   bool
	Dynamic bool
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
	if strings.ContainsAny(line, "\x00\r") {
		return Line{Problems: []string{"it contains control characters"}}
	}
	if nesting(line) > maxNest {
		return Line{Problems: []string{"it has too many parentheses within parentheses"}}
	}
	if oddContinuation.MatchString(line) {
		return Line{Problems: []string{"it is not certain where a line with a backslash at its end ends"}}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return Line{Problems: []string{"it cannot be parsed as a shell command"}}
	}
	r := reader{depth: depth}
	syntax.Walk(file, r.visit)
	return r.line
}

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
	line  Line
	depth int
}

func (r *reader) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.line.Problems, text) {
		r.line.Problems = append(r.line.Problems, text)
	}
}

// visit is called with every node, those within substitutions too.
func (r *reader) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.ParamExp:
		r.parameter(n)
	case *syntax.ExtGlob:
		r.problem("it has an extended glob, which can run code in some shells")
	case *syntax.FuncDecl:
		r.problem("it defines a function, which can replace a command")
	case *syntax.DeclClause:
		r.problem("it changes variables of the shell with %s", n.Variant.Value)
	case *syntax.ForClause, *syntax.LetClause, *syntax.ArithmCmd:
		r.problem("it changes variables of the shell")
	case *syntax.SglQuoted:
		if strings.HasSuffix(n.Value, `\`) {
			r.problem("it has a backslash before a quote, which some shells do not read as its end")
		}
	case *syntax.ArithmExp:
		r.arithmetic(n.X)
	case *syntax.BinaryTest:
		r.test(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			r.problem("it evaluates a variable's subscript, which can run code")
		}
	case *syntax.ParenTest:
		r.problem("it has a condition that other shells read as commands")
	case *syntax.CoprocClause, *syntax.TestDecl:
		r.problem("it has a construct that den does not analyse")
	}
	return true
}

// test refuses conditions within [[ ]] that a shell without [[ ]] takes for
// lists, pipelines and redirections: which shell will run the line is not
// known.
func (r *reader) test(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.AndTest, syntax.OrTest, syntax.TsBefore, syntax.TsAfter, syntax.TsReMatch:
		r.problem("it has a condition that other shells read as commands")
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		r.problem("it evaluates text as arithmetic, which can run code")
	}
}

// arithmetic refuses quotes within arithmetic: shells evaluate what is in them
// once more, and a subscript there can run code: $(( 'a[$(rm x)]' )).
func (r *reader) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(node syntax.Node) bool {
		switch node.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ParamExp:
			r.problem("it evaluates text as arithmetic, which can run code")
		}
		return true
	})
}

func (r *reader) parameter(p *syntax.ParamExp) {
	if p.Excl || p.Names != 0 {
		r.problem("it expands a variable that another variable names")
	}
	if p.Slice != nil || p.Index != nil {
		r.problem("it evaluates text as arithmetic, which can run code")
	}
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		r.problem("it changes variables of the shell")
	case syntax.OtherParamOps:
		r.problem("it expands a variable with '@', which can run code")
	}
}

func (r *reader) call(c *syntax.CallExpr) {
	var words []Word
	for _, a := range c.Assigns {
		words = append(words, assignment(a))
	}
	for _, w := range c.Args {
		if lit := w.Lit(); lit == "{" || lit == "}" {
			r.problem("it has a brace that ends a block in some shells")
		}
		words = append(words, readWord(w))
	}
	if len(words) > 0 {
		r.line.Commands = append(r.line.Commands, r.command(words))
	}
}

func assignment(a *syntax.Assign) Word {
	w := Word{Text: a.Name.Value + "=", Assign: true}
	switch {
	case a.Append, a.Naked, a.Index != nil, a.Array != nil:
		w.Dynamic = true
	case a.Value != nil:
		value := readWord(a.Value)
		w.Text += value.Text
		w.Dynamic = value.Dynamic
	}
	return w
}

func (r *reader) redirect(d *syntax.Redirect) {
	if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
		r.problem("it changes variables of the shell")
	}
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	}
	w := readWord(d.Word)
	if d.Op == syntax.DplIn || d.Op == syntax.DplOut {
		if isDescriptor(w) {
			return
		}
	}
	r.line.Files = append(r.line.Files, File{Path: w.Text, Dynamic: w.Dynamic, Write: d.Op != syntax.RdrIn && d.Op != syntax.DplIn})
}

// isDescriptor reports that a word after >& or <& names a descriptor and no
// file: "1", "-" or "2-".
func isDescriptor(w Word) bool {
	digits := strings.TrimSuffix(w.Text, "-")
	return !w.Dynamic && strings.Trim(digits, "0123456789") == "" && w.Text != ""
}
