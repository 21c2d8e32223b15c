package commandline

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

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
