package keys

import (
	"strconv"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/lazy"
)

// maxTimes bounds a repetition: a typing mistake must not flood a program.
const maxTimes = 10000

var modWords = lazy.Value[map[string]mods]{Make: func() map[string]mods {
	return map[string]mods{
		"c": ctrl, "ctrl": ctrl, "control": ctrl, "ctl": ctrl,
		"m": alt, "a": alt, "alt": alt, "meta": alt, "opt": alt, "option": alt,
		"s": shift, "shift": shift,
		"cmd": super, "command": super, "super": super, "win": super, "windows": super, "d": super,
		"hyper": hyper,
	}
}}

// Parse reads one chord. The error for anything else is fault.Usage and
// names the nearest spelling that is a chord.
func Parse(chord string) (Chord, error) {
	s := chord
	if !oneCharacter(s) {
		s = strings.TrimSpace(s)
	}
	c, err := parse(chord, s)
	if err != nil && s != "" && strings.HasSuffix(chord, " ") {
		if spaced, err := parse(chord, s+" "); err == nil {
			return spaced, nil // "C- " and the like.
		}
	}
	return c, err
}

// parse reads s, which is whole without what may surround it.
func parse(whole, s string) (Chord, error) {
	if s == "" {
		return Chord{}, fault.Errorf(fault.Usage, "empty key: give a name such as Enter, C-c, Alt+x or Space")
	}
	if len(s) > 2 && s[0] == '<' && s[len(s)-1] == '>' { // As Vim writes them.
		s = s[1 : len(s)-1]
	}
	body, times, err := repetition(s)
	if err != nil {
		return Chord{}, err
	}
	c, err := parseOne(whole, body)
	if err != nil {
		return Chord{}, err
	}
	c.times = times
	return c, nil
}

// repetition splits "Down*5". A lone "*" and "C-*" are keys.
func repetition(s string) (body string, times int, err error) {
	i := strings.LastIndexByte(s, '*')
	if i < 1 || i == len(s)-1 || s[i+1] < '0' || s[i+1] > '9' {
		return s, 1, nil
	}
	times, err = strconv.Atoi(s[i+1:])
	if err != nil || times < 1 || times > maxTimes {
		return "", 0, fault.Errorf(fault.Usage, "key %q: a repetition is a number from 1 to %d", s, maxTimes)
	}
	return s[:i], times, nil
}

// parseOne reads modifiers and what they modify. whole is the caller's spelling.
func parseOne(whole, s string) (Chord, error) {
	var m mods
	capitals := false // the modifier was written as people do, who write the letter in capitals
	if len(s) > 1 && s[0] == '^' && oneCharacter(s[1:]) {
		m, capitals, s = ctrl, true, s[1:]
	}
	for !oneCharacter(s) {
		i := strings.IndexAny(s, "+-")
		if i < 1 || i == len(s)-1 {
			break
		}
		word := strings.ToLower(strings.TrimSpace(s[:i]))
		bit, ok := modWords.Get()[word]
		if !ok {
			break
		}
		if m&bit != 0 {
			return Chord{}, fault.Errorf(fault.Usage, "key %q: modifier %q is given twice", whole, strings.TrimSpace(s[:i]))
		}
		m |= bit
		capitals = capitals || bit == ctrl && len(word) > 1
		s = s[i+1:]
		if !oneCharacter(s) {
			s = strings.TrimSpace(s)
		}
	}
	if name, args, ok := strings.Cut(s, ":"); ok && name != "" {
		c, err := parseMouse(whole, name, args)
		c.mods = m
		return c, err
	}
	if oneCharacter(s) {
		c := character(s)
		if capitals && isLetter(c.text) {
			c.mods = 0
		}
		c.mods |= m
		return c, nil
	}
	c, ok := named.Get()[fold(s)]
	if !ok {
		return Chord{}, unknownKey(whole, m, s)
	}
	if m != 0 && (c.key == focusIn || c.key == focusOut) {
		return Chord{}, fault.Errorf(fault.Usage, "key %q: a change of focus has no modifiers", whole)
	}
	c.mods |= m
	return c, nil
}

func isLetter(text string) bool {
	return len(text) == 1 && text[0] >= 'a' && text[0] <= 'z'
}
