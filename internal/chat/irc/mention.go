package irc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mentions reports whether text addresses nick as @nick, in any case. The
// short form is the part of the nick after its first hyphen, the prefix that
// names its server or machine: @claude addresses spark-claude. The name must
// stand alone: @claude-2 and a@claude.x address nobody called claude, and
// "@claude:" does.
func Mentions(text, nick string, fold CaseMapping) bool {
	if mentions(text, nick, fold) {
		return true
	}
	_, short, ok := strings.Cut(nick, "-")
	return ok && mentions(text, short, fold)
}

func mentions(text, name string, fold CaseMapping) bool {
	if name == "" {
		return false
	}
	for at := strings.IndexByte(text, '@'); at >= 0; {
		end := at + 1 + len(name)
		if end <= len(text) && fold.Equal(text[at+1:end], name) && beginsName(text[:at]) && endsName(text[end:]) {
			return true
		}
		next := strings.IndexByte(text[at+1:], '@')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// beginsName reports whether an '@' after this text begins a mention. After a
// letter it is part of an address.
func beginsName(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || !isNameRune(r) && r != '.' && r != '@' && r != '/'
}

// endsName reports whether a name ends before this text. A period ends it if
// no name goes on after it, as at the end of a sentence.
func endsName(after string) bool {
	after = strings.TrimLeft(after, ".")
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || !isNameRune(r) && r != '@'
}

// isNameRune reports whether a nick can go on with r, letters of any script
// among them.
func isNameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(`-_[]\^{}|`, r)
}
