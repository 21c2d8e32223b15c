// Package keys encodes chords, text and pastes for a terminal's modes.
//
// A chord is one key with its modifiers, one mouse action, or a change of
// focus, spelled the way tmux spells it or the way people write it:
//
//	a  É  +  Space  Enter  F5  Up        a key
//	C-c  M-x  S-Tab  C-M-S-Up  ^C        tmux's modifiers
//	Ctrl+C  Alt+Shift+F5  Cmd+K          readable modifiers
//	Down*5                               five times
//	Click:3,10  C-WheelUp:0,0  Drag:1,2-1,9
//	FocusIn  FocusOut
//
// Names and modifiers may be in any case. Positions are ROW,COL counted from 0,
// as in "wait --cursor R,C". Meta is Alt, as terminals have it; Cmd, Win and
// Super are one modifier. The keyboard is a US one: "!" is Shift and 1.
//
// A letter's case: "A" is Shift and a, and so is the A of "M-A". With "C-A"
// the case shows only where the program's keyboard mode can tell; "Ctrl+A" and
// "^A", which people write in capitals, always mean "C-a".
//
// Encoding follows the modes that the program has set: application cursor and
// keypad keys, line feed mode, xterm's modifyOtherKeys and kitty's keyboard
// protocol. Without the latter two a terminal cannot express some chords.
// They get what xterm sends: Ctrl+Enter and Shift+Enter are Enter, Ctrl+Tab is
// Tab, Ctrl+1 is 1, Ctrl+/ is 0x1f, F13 to F24 are Shift and F1 to F12, F25
// to F35 are Ctrl and F1 to F11. Super and Hyper with a character are
// fault.Unsupported there.
package keys

import (
	"strconv"
	"strings"
)

// A Chord is one parsed chord. Chords compare with ==.
type Chord struct {
	mods  mods
	key   key    // a named key, or 0
	text  string // with key 0: one character as the key shows it without Shift
	mouse action // or 0
	at    point
	to    point // where a drag ends
	times int   // 1 or more
}

// mods is a set of modifiers; the values are those of the kitty protocol.
type mods uint8

const (
	shift mods = 1 << iota
	alt
	ctrl
	super
	hyper
)

var modNames = []struct {
	bit  mods
	text string
}{
	{ctrl, "C-"}, {alt, "M-"}, {shift, "S-"}, {super, "Super-"}, {hyper, "Hyper-"},
}

// point is a cell, counted from 0.
type point struct{ row, col int }

func (p point) String() string { return strconv.Itoa(p.row) + "," + strconv.Itoa(p.col) }

// Times is how often the chord is pressed: 5 for "Down*5".
func (c Chord) Times() int { return max(c.times, 1) }

// Once is the chord without its repetition. A host writes it Times times, one
// write each: programs that read the terminal in pieces take what comes in
// one piece for a paste or drop all but the first key.
func (c Chord) Once() Chord {
	c.times = 1
	return c
}

// String spells the chord so that Parse gives it back.
func (c Chord) String() string {
	var b strings.Builder
	m, text := c.mods, c.text
	if m&shift != 0 && m&ctrl == 0 && c.key == 0 && c.mouse == 0 {
		if up, ok := shifted(text); ok {
			m, text = m&^shift, up
		}
	}
	for _, n := range modNames {
		if m&n.bit != 0 {
			b.WriteString(n.text)
		}
	}
	switch {
	case c.mouse != 0:
		b.WriteString(actions[c.mouse].name + ":" + c.at.String())
		if actions[c.mouse].drags {
			b.WriteString("-" + c.to.String())
		}
	case c.key != 0:
		b.WriteString(table.Get()[c.key].name)
	case text == " ":
		b.WriteString("Space")
	default:
		b.WriteString(text)
	}
	if c.times > 1 {
		b.WriteString("*" + strconv.Itoa(c.times))
	}
	return b.String()
}
