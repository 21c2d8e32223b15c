package keys

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"den/internal/screen/vt"
)

// The kitty protocol's flags. https://sw.kovidgoyal.net/kitty/keyboard-protocol/
const (
	kittyDisambiguate = 1
	kittyEvents       = 2 // Press is the default event and is not written out.
	kittyAlternates   = 4
	kittyAll          = 8
	kittyText         = 16 // Means something together with kittyAll only.
)

// encodeKitty is for programs that turned the kitty keyboard protocol on.
func (c Chord) encodeKitty(m vt.Modes) (string, error) {
	if c.key == 0 {
		return c.kittyCharacter(m)
	}
	r := table.Get()[c.key]
	clear, all := m.KittyFlags&kittyDisambiguate != 0, m.KittyFlags&kittyAll != 0
	switch {
	case r.c0 != "" && c.kittyKeepsC0(clear, all):
		return c.legacyC0(m)
	case r.plain != "" && !all && (r.text != "" && c.mods&^shift == 0 || !clear):
		return c.legacyKeypad(vt.Modes{NewLine: m.NewLine}) // The keypad has no application mode here.
	case r.name == "F3":
		return csiKey(13, '~', c.mods), nil // CSI R would read as a cursor position report.
	case r.final != 0 && (r.kitty == 0 || !clear && !all):
		return csiKey(r.number, r.final, c.mods), nil
	}
	return kittyField(strconv.Itoa(r.kitty), c.mods, c.kittyTyped(m, r.text)), nil
}

// kittyKeepsC0 tells which of Enter, Tab, Escape and Backspace stay single
// bytes. The first three of them do without modifiers, so that a shell can be
// used after a program died without turning the protocol off.
func (c Chord) kittyKeepsC0(clear, all bool) bool {
	switch {
	case all:
		return false
	case c.mods == 0:
		return c.key != escape || !clear
	case clear:
		return false
	}
	return c.key != escape && (c.mods == alt || c.key == tab && c.mods == shift || c.key == backspace && c.mods == ctrl)
}

func (c Chord) kittyCharacter(m vt.Modes) (string, error) {
	all := m.KittyFlags&kittyAll != 0
	r, size := utf8.DecodeRuneInString(c.text)
	switch {
	case !all && c.mods&^shift == 0:
		return c.typed(), nil
	case !all && m.KittyFlags&kittyDisambiguate == 0 && c.mods&(super|hyper) == 0:
		return c.legacyCharacter()
	case size < len(c.text) && c.mods&^shift == 0:
		return c.text, nil // No key has several code points; the protocol sends such text as it is.
	case size < len(c.text):
		return "", c.unsupported("a character of several code points is no key that modifiers go with")
	}
	code := strconv.Itoa(int(r))
	if up, ok := shifted(c.text); ok && c.mods&shift != 0 && m.KittyFlags&kittyAlternates != 0 {
		u, _ := utf8.DecodeRuneInString(up)
		code += ":" + strconv.Itoa(int(u))
	}
	return kittyField(code, c.mods, c.kittyTyped(m, c.typed())), nil
}

// kittyTyped is text in the protocol's third field, where it is asked for and
// the chord types something.
func (c Chord) kittyTyped(m vt.Modes, text string) string {
	if m.KittyFlags&kittyText == 0 || m.KittyFlags&kittyAll == 0 || c.mods&^shift != 0 || text == "" {
		return ""
	}
	var codes []string
	for _, r := range text {
		codes = append(codes, strconv.Itoa(int(r)))
	}
	return strings.Join(codes, ":")
}

// kittyField is CSI CODE ; MODIFIERS ; TEXT u without the empty fields at its end.
func kittyField(code string, m mods, text string) string {
	s := csi + code
	if m != 0 || text != "" {
		s += ";"
	}
	if m != 0 {
		s += strconv.Itoa(int(m) + 1)
	}
	if text != "" {
		s += ";" + text
	}
	return s + "u"
}

// encodeOther is xterm's modifyOtherKeys: CSI 27 ; MODIFIERS ; CODE ~ for
// chords of ordinary keys. Level 1 leaves alone what has a well-known byte,
// level 2 only what types text. It reports false for what stays as it was.
func (c Chord) encodeOther(level int) (string, bool) {
	if level < 1 || c.mods == 0 {
		return "", false
	}
	code, ok := c.otherCode()
	if !ok {
		return "", false
	}
	known := c.mods == shift && c.key == 0 && c.text != " " // It types text.
	switch {
	case c.key == tab:
		known = c.mods == shift // CSI Z
	case c.key == backspace:
		known = level == 1 || c.mods == ctrl
	case level == 1:
		known = known || c.mods == shift && c.text == " " || c.mods&(ctrl|super|hyper) == 0 && c.mods&alt != 0
		if _, has := control(c.typed()); has && c.key == 0 && c.mods&ctrl != 0 {
			known = c.mods&(super|hyper) == 0
		}
	}
	if known {
		return "", false
	}
	return csi + "27;" + strconv.Itoa(int(c.mods)+1) + ";" + strconv.Itoa(code) + "~", true
}

// otherCode is the character that xterm names the key by.
func (c Chord) otherCode() (int, bool) {
	switch c.key {
	case 0:
		text := c.typed()
		r, size := utf8.DecodeRuneInString(text)
		return int(r), size == len(text)
	case enter, tab, escape, backspace:
		return table.Get()[c.key].kitty, true
	}
	return 0, false
}
