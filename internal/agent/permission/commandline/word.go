package commandline

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// readWord removes quotes as the shell does, and tells whether more than that
// would happen to the word.
func readWord(w *syntax.Word) Word {
	if w.Lit() == "[" {
		return Word{Text: "["} // the command; a glob has a ']' too
	}
	var text strings.Builder
	out := Word{}
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && expandsHome(lit.Value, i == 0) {
			out.Dynamic = true
		}
		s, known := readPart(part)
		text.WriteString(s)
		out.Dynamic = out.Dynamic || !known
		out.Unknown = out.Unknown || !isPlain(part)
		out.Globs = out.Globs || mayGlob(part)
	}
	out.Text = text.String()
	if hasBraces(w) {
		before, rest, _ := strings.Cut(out.Text, "{")
		out.Dynamic, out.Text = true, before+Hole+rest[strings.LastIndex(rest, "}")+1:]
		if !strings.Contains(rest, "}") {
			out.Unknown = true
		}
	}
	return out
}

// mayGlob reports a part outside quotes in which a shell looks for globs: what
// a substitution prints, too, unless that cannot have any.
func mayGlob(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		_, plain := unescape(p.Value)
		return !plain
	case *syntax.ParamExp:
		return p.Exp != nil && p.Exp.Word != nil && !isLiteralName(p.Exp.Word)
	case *syntax.CmdSubst:
		return !printsName(p)
	}
	return false
}

// isLiteralName reports a word without globs and expansions.
func isLiteralName(w *syntax.Word) bool {
	return len(w.Parts) == 0 || w.Lit() != "" && !strings.ContainsAny(w.Lit(), "*?[")
}

// printers print names and numbers alone, in which there are no globs.
var printers = []string{"pwd", "date", "whoami", "id", "uname", "nproc", "seq"}

// printsName reports a substitution by one of the printers, with plain words.
func printsName(s *syntax.CmdSubst) bool {
	if len(s.Stmts) != 1 || len(s.Stmts[0].Redirs) > 0 {
		return false
	}
	call, ok := s.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	var words []string
	for _, w := range call.Args {
		if w.Lit() == "" || strings.ContainsAny(w.Lit(), `*?[\\`) {
			return false
		}
		words = append(words, w.Lit())
	}
	return slices.Contains(printers, words[0]) || len(words) > 1 && words[0] == "git" && words[1] == "rev-parse"
}

// isPlain reports that a part is text, or a variable with a name: those have
// the values that the shell was started with, unless the line sets any. What a
// substitution prints, and arguments of a shell, may be whatever its author
// wants, and any number of words.
func isPlain(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit, *syntax.ProcSubst:
		return true
	case *syntax.SglQuoted:
		return !p.Dollar
	case *syntax.DblQuoted:
		return !p.Dollar && !slices.ContainsFunc(p.Parts, func(in syntax.WordPart) bool { return !isPlain(in) })
	case *syntax.ParamExp:
		return p.Param != nil && syntax.ValidName(p.Param.Value) && reflect.DeepEqual(p, &syntax.ParamExp{Dollar: p.Dollar, Rbrace: p.Rbrace, Short: p.Short, Param: p.Param})
	}
	return false
}

// hasBraces reports that a shell may expand braces in a word, {a,b} or {1..3},
// or take it for a part of a redirection, {name}.
func hasBraces(w *syntax.Word) bool {
	var unquoted strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			unquoted.WriteString(lit.Value)
		}
	}
	text := unquoted.String()
	if strings.HasPrefix(text, "{") && text != "{}" {
		return true
	}
	return strings.Contains(text, "{") && strings.Contains(text, "}") && (strings.Contains(text, ",") || strings.Contains(text, ".."))
}

// expandsHome reports that a shell may replace a '~' in text outside quotes by
// a home directory, or a '=' at the beginning by a program's path, as zsh does.
func expandsHome(s string, first bool) bool {
	if first && (strings.HasPrefix(s, "~") || strings.HasPrefix(s, "=") && len(s) > 1) {
		return true
	}
	return strings.Contains(s, "=~") || strings.Contains(s, ":~")
}

func readPart(part syntax.WordPart) (text string, known bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		return unescape(p.Value)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar // some shells do not know $'…'
	case *syntax.DblQuoted:
		return readQuoted(p)
	}
	if _, ok := part.(*syntax.ProcSubst); ok {
		return Pipe, false
	}
	return Hole, false
}

// unescape reads text outside quotes. An unescaped glob is not known.
func unescape(s string) (text string, known bool) {
	var b strings.Builder
	known = true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case '*', '?', '[':
			known = false
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), known
}

func readQuoted(q *syntax.DblQuoted) (text string, known bool) {
	var b strings.Builder
	known = !q.Dollar // some shells do not know $"…"
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			b.WriteString(Hole)
			known = false
			continue
		}
		b.WriteString(unescapeQuoted(lit.Value))
	}
	return b.String(), known
}

// unescapeQuoted reads text within double quotes, where a backslash stands for
// itself before most characters.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch next := s[i+1]; next {
			case '$', '`', '"', '\\':
				b.WriteByte(next)
				i++
				continue
			case '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// word reports whether the parts of a word are read alike by every shell.
func (r *reader) word(w *syntax.Word) bool {
	in := r.context[w]
	switch {
	case in == counted:
		return true
	case in == defaulted && hasQuotes(w.Parts), in == matched && !isLiteral(w.Parts):
		return false
	}
	return parts(w.Parts, in)
}

// hasQuotes reports quotes, which shells treat in different ways within
// ${x:-…} within quotes.
func hasQuotes(all []syntax.WordPart) bool {
	for _, part := range all {
		switch part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		}
	}
	return false
}

// isLiteral reports that a word is text and globs alone.
func isLiteral(all []syntax.WordPart) bool {
	for _, part := range all {
		switch p := part.(type) {
		case *syntax.Lit:
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
		case *syntax.DblQuoted:
			if !isLiteral(p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// parts reports whether text stands for itself, beside what it stands beside:
// zsh takes '[' behind a parameter for a subscript, within quotes too, and
// evaluates it; and it has flags before a parameter's name, $~x, and lengths,
// $#x, that other shells read as text.
func parts(all []syntax.WordPart, in context) bool {
	for i, part := range all {
		var before syntax.WordPart
		if i > 0 {
			before = all[i-1]
		}
		lit, isLit := part.(*syntax.Lit)
		if isLit && !standsForItself(lit.Value, in, i == len(all)-1) {
			return false
		}
		switch b := before.(type) {
		case *syntax.ParamExp:
			if isLit && strings.HasPrefix(lit.Value, "[") {
				return false
			}
			if b.Short && b.Param != nil && b.Param.Value == "#" && (!isLit || !strings.ContainsAny(lit.Value[:1], " \n/.,:;)")) {
				return false
			}
		case *syntax.CmdSubst, *syntax.ArithmExp:
			if isLit && strings.HasPrefix(lit.Value, "[") {
				return false
			}
		}
	}
	return true
}

// standsForItself reports whether all shells read text as these characters, or
// as globs, tildes and braces, which Word.Dynamic tells of.
func standsForItself(s string, in context, last bool) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if in == defaulted {
				return false
			}
			i++
		case '$': // a flag of zsh, unless nothing that could be one follows
			if i+1 == len(s) && !last || i+1 < len(s) && !strings.ContainsRune(" \t\n\\|)/.,", rune(s[i+1])) {
				return false
			}
		case '`':
			return false
		case '(', ')', '<', '>', '|', '&', ';', '\'', '"':
			if in != quoted {
				return false
			}
		}
	}
	return in == quoted || !strings.ContainsFunc(s, isOddBlank)
}

// isOddBlank reports characters outside quotes that a shell may take for a
// blank, by its locale or byte by byte, and those that nobody sees.
func isOddBlank(c rune) bool {
	if c < 0x80 {
		return false
	}
	return unicode.IsSpace(c) || !unicode.IsGraphic(c) || strings.Contains(string(c), "\xa0") || strings.Contains(string(c), "\x85")
}
