package commandline

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The grammar of what den analyses: each construct, operator and part of a word
// that is known to do in bash, dash and zsh what the tree says, and nothing
// else. Whatever is not listed is a problem of the line. What it contains is
// read all the same, for the rules that forbid.

// context is how a node is read that its parent knows more of.
type context string

const (
	onlyRead  context = "only-read"  // a redirection without a command that reads a file, in $(< file)
	quoted    context = "quoted"     // the text of a here-document, and within double quotes
	defaulted context = "defaulted"  // the word in ${x:-word}
	matched   context = "matched"    // a pattern of case
	counted   context = "arithmetic" // an operand
)

// visit is called with every node, those within substitutions and within
// problems too.
func (r *reader) visit(node syntax.Node) bool {
	if node == nil { // the end of a node's children
		r.within = r.within[:len(r.within)-1]
		return true
	}
	r.within = append(r.within, node)
	known := true
	switch n := node.(type) {
	case *syntax.File, *syntax.Comment, *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.TimeClause:
	case *syntax.WhileClause:
		known = !changesDirectory(n) // each time from where it was
	case *syntax.Stmt:
		// For a redirection without a command zsh runs a program.
		known = !n.Coprocess && !n.Disown && (n.Cmd != nil || r.context[n] == onlyRead)
	case *syntax.BinaryCmd:
		known = slices.Contains([]syntax.BinCmdOperator{syntax.AndStmt, syntax.OrStmt, syntax.Pipe, syntax.PipeAll}, n.Op)
	case *syntax.CallExpr:
		r.call(n)
	case *syntax.Assign: // by its call
	case *syntax.Redirect:
		known = r.redirect(n)
	case *syntax.CaseClause:
		known = !n.Braces
	case *syntax.CaseItem:
		known = n.Op == syntax.Break
		for _, w := range n.Patterns {
			r.context[w] = matched
		}
	case *syntax.TestClause:
		known = r.condition(n.X)
	case *syntax.UnaryTest, *syntax.BinaryTest: // by their clause
	case *syntax.Word:
		known = r.word(n)
	case *syntax.DblQuoted:
		known = !n.Dollar && parts(n.Parts, quoted)
	case *syntax.Lit: // by its word
	case *syntax.SglQuoted:
		// A backslash before a quote is its end in some shells only.
		known = !strings.HasSuffix(n.Value, `\`) && !(n.Dollar && strings.Contains(n.Value, `\'`))
	case *syntax.ParamExp:
		known = r.parameter(n)
	case *syntax.CmdSubst:
		known = !n.TempFile && !n.ReplyVar
		if len(n.Stmts) == 1 && readsFile(n.Stmts[0]) {
			r.context[n.Stmts[0]] = onlyRead
		}
	case *syntax.ProcSubst:
		known = n.Op == syntax.CmdIn || n.Op == syntax.CmdOut
	case *syntax.ArithmExp:
		known = !n.Bracket && !n.Unsigned && r.arithmetic(n.X)
	case *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm: // by their expression
	default:
		known = false
	}
	if !known {
		r.problem("it has a construct that den does not analyse: %s", r.source(node))
	}
	return true
}

// changesDirectory reports whether a command in a node may change the shell's
// directory.
func changesDirectory(node syntax.Node) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			name := readWord(c.Args[0])
			found = found || name.Dynamic || slices.Contains([]string{"cd", "chdir", "pushd", "popd", "builtin", "command"}, name.Text)
		}
		return true
	})
	return found
}

// source is a node's text, shortened.
func (r *reader) source(node syntax.Node) string {
	const most = 40
	to := min(int(node.End().Offset()), len(r.text))
	text := strings.ToValidUTF8(strings.TrimSpace(r.text[min(int(node.Pos().Offset()), to):to]), "")
	if short := []rune(text); len(short) > most {
		text = string(short[:most]) + "…"
	}
	return text
}

func readsFile(s *syntax.Stmt) bool {
	return s.Cmd == nil && !s.Negated && !s.Background && len(s.Redirs) == 1 && s.Redirs[0].Op == syntax.RdrIn && s.Redirs[0].N == nil
}

func (r *reader) redirect(d *syntax.Redirect) bool {
	// In zsh a '!' behind '>' is a part of the operator.
	known := (d.N == nil || isDigit(d.N.Value)) && !strings.HasPrefix(r.source(d.Word), "!")
	switch d.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		// Shells do not agree where its text ends: behind a line that is
		// continued, within a substitution. What is behind it may be commands.
		if d.Hdoc != nil {
			r.context[d.Hdoc] = quoted
		}
		return false
	case syntax.WordHdoc:
		return known
	case syntax.DplIn, syntax.DplOut: // bash expands a name that is no descriptor twice
		known = known && isDescriptor(readWord(d.Word))
	case syntax.RdrAll, syntax.AppAll: // for dash '&' ends the command, and words behind the file are another one
		known = known && r.isBehind(d)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.RdrClob:
	default:
		known = false
	}
	r.file(d)
	return known
}

// isBehind reports that a redirection stands behind the command that it is of.
func (r *reader) isBehind(d *syntax.Redirect) bool {
	s, ok := r.within[len(r.within)-2].(*syntax.Stmt)
	return ok && s.Cmd != nil && d.OpPos.Offset() >= s.Cmd.End().Offset()
}

var (
	fileTests   = []syntax.UnTestOperator{syntax.TsExists, syntax.TsRegFile, syntax.TsDirect, syntax.TsSmbLink, syntax.TsRead, syntax.TsWrite, syntax.TsExec, syntax.TsNoEmpty}
	stringTests = []syntax.UnTestOperator{syntax.TsEmpStr, syntax.TsNempStr}
	comparisons = []syntax.BinTestOperator{syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch}
)

// condition reads what stands within [[ ]]. A test of a file is a command: it
// names the file. Other operators evaluate text, or are lists, pipelines and
// redirections for a shell that does not know [[ ]].
func (r *reader) condition(x syntax.TestExpr) bool {
	switch t := x.(type) {
	case *syntax.Word:
		return true
	case *syntax.UnaryTest:
		if t.Op == syntax.TsNot {
			return r.condition(t.X)
		}
		w, ok := t.X.(*syntax.Word)
		if ok && slices.Contains(fileTests, t.Op) {
			r.line.Commands = append(r.line.Commands, Command{Words: []Word{{Text: "[["}, {Text: t.Op.String()}, readWord(w)}})
			return true
		}
		return ok && slices.Contains(stringTests, t.Op)
	case *syntax.BinaryTest:
		return slices.Contains(comparisons, t.Op) && r.condition(t.X) && r.condition(t.Y)
	}
	return false
}

var (
	unaryOperators  = []syntax.UnAritOperator{syntax.Not, syntax.BitNegation, syntax.Plus, syntax.Minus}
	binaryOperators = []syntax.BinAritOperator{
		syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Eql, syntax.Neq, syntax.Gtr, syntax.Lss, syntax.Leq, syntax.Geq,
		syntax.And, syntax.Or, syntax.Xor, syntax.Shl, syntax.Shr, syntax.AndArit, syntax.OrArit, syntax.TernQuest, syntax.TernColon,
	}
	number = regexp.MustCompile(`^[0-9]{1,18}$`)
)

// arithmetic knows numbers, operators and parentheses. The value of a name is
// evaluated once more, and a subscript in it can run code.
func (r *reader) arithmetic(x syntax.ArithmExpr) bool {
	switch a := x.(type) {
	case *syntax.Word:
		r.context[a] = counted
		return number.MatchString(a.Lit())
	case *syntax.ParenArithm:
		return r.arithmetic(a.X)
	case *syntax.UnaryArithm:
		return !a.Post && slices.Contains(unaryOperators, a.Op) && r.arithmetic(a.X)
	case *syntax.BinaryArithm:
		return slices.Contains(binaryOperators, a.Op) && r.arithmetic(a.X) && r.arithmetic(a.Y)
	}
	return false
}

var (
	parameters = regexp.MustCompile(`^([A-Za-z]\w*|_\w+|[0-9]|[#?@*$!-])$`) // and not '_', which is the last argument
	expansions = []syntax.ParExpOperator{
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
		syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
	}
)

// parameter knows $x, ${x}, ${#x} and a few operators.
func (r *reader) parameter(p *syntax.ParamExp) bool {
	plain := &syntax.ParamExp{Dollar: p.Dollar, Rbrace: p.Rbrace, Short: p.Short, Param: p.Param, Length: p.Length, Exp: p.Exp}
	if p.Param == nil || !parameters.MatchString(p.Param.Value) || p.Length && p.Exp != nil || !reflect.DeepEqual(p, plain) {
		return false
	}
	if p.Exp == nil {
		return true
	}
	if p.Exp.Word != nil {
		r.context[p.Exp.Word] = defaulted
	}
	return slices.Contains(expansions, p.Exp.Op)
}

// Some builtins evaluate what they are given, quoted or not: a number that is a
// name or has a subscript runs the substitutions in it (printf %d and test -ne
// in zsh), and so does the name of a variable (printf -v, test -v in bash).

var (
	// plainFormat is a format of printf that prints its arguments as they are.
	// zsh reads other escapes before it looks for '%'.
	plainFormat = regexp.MustCompile(`^([^%\\]|\\[nrt\\]|%%|%-?[0-9]{0,3}(\.[0-9]{1,3})?[sb])*$`)
	integer     = regexp.MustCompile(`^[-+]?[0-9]{1,18}$`)
	// testOperators do not evaluate what stands beside them.
	testOperators  = []string{"-e", "-f", "-d", "-r", "-w", "-x", "-s", "-z", "-n", "-L", "-h", "-p", "-S", "-b", "-c", "-u", "-g", "-k", "-O", "-G", "-N", "-nt", "-ot", "-ef", "-a", "-o"}
	countOperators = []string{"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
)

// evaluates reports whether a command may evaluate one of its arguments.
func evaluates(name string, args []Word) bool {
	switch name {
	case "printf":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		return len(args) > 0 && (args[0].Dynamic || strings.HasPrefix(args[0].Text, "-") || !plainFormat.MatchString(args[0].Text))
	case "test", "[":
		return slices.ContainsFunc(args, func(w Word) bool { return w.Dynamic }) || !plainTest(args)
	case "wait":
		return slices.ContainsFunc(args, func(w Word) bool { return w.Dynamic || strings.HasPrefix(w.Text, "-") })
	}
	return false
}

// plainTest reports that the operators of a test are known, and that those
// which count have numbers beside them.
func plainTest(args []Word) bool {
	for i, w := range args {
		switch {
		case slices.Contains(countOperators, w.Text):
			if i == 0 || i+1 == len(args) || !integer.MatchString(args[i-1].Text) || !integer.MatchString(args[i+1].Text) {
				return false
			}
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && !integer.MatchString(w.Text) && !slices.Contains(testOperators, w.Text):
			return false
		}
	}
	return true
}
