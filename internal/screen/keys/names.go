package keys

import (
	"strconv"
	"strings"

	"den/internal/base/lazy"
)

// key numbers the named keys. The numbers stay in this process.
type key int

// row is how one named key is written.
type row struct {
	name    string
	aliases []string

	c0     string // what it sends without modifiers in every legacy mode, or ""
	final  byte   // CSI ... final, or SS3 final where cursor or f1 says so
	number int    // CSI number ~, with final '~'
	cursor bool   // SS3 in application cursor mode
	f1     bool   // SS3 always: F1 to F4

	keypad byte   // SS3 keypad in application keypad mode, or 0
	plain  string // what a keypad key sends in numeric mode

	kitty int    // its number in the kitty protocol, for CSI number u
	text  string // with kitty's "report text": what it types
}

const (
	enter key = iota + 1
	tab
	escape
	backspace
	focusIn
	focusOut
	firstRegular
)

// table lists the named keys, the first ones in the order of the constants
// above. Like all tables here it is made when it is first used: most commands
// press no key.
var table = lazy.Value[[]row]{Make: func() []row { return append(firstKeys(), append(functionKeys(), keypadKeys()...)...) }}

func firstKeys() []row {
	return []row{
		{},
		{name: "Enter", aliases: []string{"Return", "CR"}, c0: "\r", kitty: 13},
		{name: "Tab", c0: "\t", kitty: 9},
		{name: "Escape", aliases: []string{"Esc"}, c0: "\x1b", kitty: 27},
		{name: "Backspace", aliases: []string{"BSpace", "BS", "Back"}, c0: "\x7f", kitty: 127},
		{name: "FocusIn"},
		{name: "FocusOut"},

		{name: "Up", aliases: []string{"ArrowUp", "UpArrow"}, final: 'A', cursor: true},
		{name: "Down", aliases: []string{"ArrowDown", "DownArrow"}, final: 'B', cursor: true},
		{name: "Right", aliases: []string{"ArrowRight", "RightArrow"}, final: 'C', cursor: true},
		{name: "Left", aliases: []string{"ArrowLeft", "LeftArrow"}, final: 'D', cursor: true},
		{name: "Home", final: 'H', cursor: true},
		{name: "End", final: 'F', cursor: true},
		{name: "Insert", aliases: []string{"Ins", "IC"}, final: '~', number: 2},
		{name: "Delete", aliases: []string{"Del", "DC"}, final: '~', number: 3},
		{name: "PageUp", aliases: []string{"PgUp", "PPage", "Prior"}, final: '~', number: 5},
		{name: "PageDown", aliases: []string{"PgDn", "PgDown", "NPage", "Next"}, final: '~', number: 6},
		{name: "Menu", final: '~', number: 29, kitty: 57363},
		{name: "CapsLock", kitty: 57358},
		{name: "ScrollLock", kitty: 57359},
		{name: "NumLock", kitty: 57360},
		{name: "PrintScreen", aliases: []string{"PrtSc", "Print"}, kitty: 57361},
		{name: "Pause", aliases: []string{"Break"}, kitty: 57362},
	}
}

// functionKeys are F1 to F35.
func functionKeys() []row {
	rows := []row{
		{final: 'P', f1: true}, {final: 'Q', f1: true}, {final: 'R', f1: true}, {final: 'S', f1: true},
		{number: 15}, {number: 17}, {number: 18}, {number: 19}, {number: 20}, {number: 21}, {number: 23}, {number: 24},
	}
	for i := range rows {
		if rows[i].final == 0 {
			rows[i].final = '~'
		}
	}
	for n := 13; n <= 35; n++ {
		rows = append(rows, row{kitty: 57376 + n - 13})
	}
	for i := range rows {
		rows[i].name = "F" + strconv.Itoa(i+1)
	}
	return rows
}

// keypadKeys are the keypad with its number lock on, then with it off.
func keypadKeys() []row {
	var rows []row
	for n := range 10 {
		d := strconv.Itoa(n)
		rows = append(rows, row{name: "KP" + d, keypad: byte('p' + n), plain: d, kitty: 57399 + n, text: d})
	}
	return append(rows,
		row{name: "KP.", aliases: []string{"KPDot", "KPDecimal", "KPPeriod"}, keypad: 'n', plain: ".", kitty: 57409, text: "."},
		row{name: "KP/", aliases: []string{"KPSlash", "KPDivide"}, keypad: 'o', plain: "/", kitty: 57410, text: "/"},
		row{name: "KP*", aliases: []string{"KPStar", "KPMultiply"}, keypad: 'j', plain: "*", kitty: 57411, text: "*"},
		row{name: "KP-", aliases: []string{"KPMinus", "KPSubtract"}, keypad: 'm', plain: "-", kitty: 57412, text: "-"},
		row{name: "KP+", aliases: []string{"KPPlus", "KPAdd"}, keypad: 'k', plain: "+", kitty: 57413, text: "+"},
		row{name: "KPEnter", keypad: 'M', plain: "\r", kitty: 57414},
		row{name: "KP=", aliases: []string{"KPEqual", "KPEquals"}, keypad: 'X', plain: "=", kitty: 57415, text: "="},
		row{name: "KP,", aliases: []string{"KPComma", "KPSeparator"}, keypad: 'l', plain: ",", kitty: 57416, text: ","},
		row{name: "KPLeft", final: 'D', cursor: true, kitty: 57417},
		row{name: "KPRight", final: 'C', cursor: true, kitty: 57418},
		row{name: "KPUp", final: 'A', cursor: true, kitty: 57419},
		row{name: "KPDown", final: 'B', cursor: true, kitty: 57420},
		row{name: "KPPageUp", final: '~', number: 5, kitty: 57421},
		row{name: "KPPageDown", final: '~', number: 6, kitty: 57422},
		row{name: "KPHome", final: 'H', cursor: true, kitty: 57423},
		row{name: "KPEnd", final: 'F', cursor: true, kitty: 57424},
		row{name: "KPInsert", final: '~', number: 2, kitty: 57425},
		row{name: "KPDelete", final: '~', number: 3, kitty: 57426},
		row{name: "KPBegin", final: 'E', cursor: true, kitty: 57427},
	)
}

// characters are names for characters, for callers whose quoting is hard.
func characters() map[string]string {
	return map[string]string{
		"Space": " ", "Spc": " ", "Plus": "+", "Minus": "-", "Hyphen": "-", "Dash": "-", "Comma": ",", "Period": ".", "Dot": ".",
		"Slash": "/", "Backslash": "\\", "Semicolon": ";", "Colon": ":", "Quote": "'", "Apostrophe": "'", "DoubleQuote": "\"",
		"Backtick": "`", "Grave": "`", "Tilde": "~", "At": "@", "Hash": "#", "Dollar": "$", "Percent": "%", "Caret": "^",
		"Ampersand": "&", "Asterisk": "*", "Star": "*", "LParen": "(", "RParen": ")", "Equals": "=", "Equal": "=",
		"Underscore": "_", "Pipe": "|", "Bar": "|", "LBracket": "[", "RBracket": "]", "LBrace": "{", "RBrace": "}",
		"Less": "<", "LT": "<", "Greater": ">", "GT": ">", "Question": "?", "Exclamation": "!", "Bang": "!",
	}
}

// named maps every folded name to its chord; made once from the tables.
var named = lazy.Value[map[string]Chord]{Make: func() map[string]Chord {
	m := make(map[string]Chord)
	for i, r := range table.Get()[1:] {
		for _, name := range append([]string{r.name}, r.aliases...) {
			m[fold(name)] = Chord{key: key(i + 1), times: 1}
		}
	}
	for name, text := range characters() {
		m[fold(name)] = character(text)
	}
	m[fold("BTab")] = Chord{key: tab, mods: shift, times: 1}
	m[fold("BackTab")] = Chord{key: tab, mods: shift, times: 1}
	m[fold("LF")] = Chord{text: "j", mods: ctrl, times: 1}
	m[fold("LineFeed")] = Chord{text: "j", mods: ctrl, times: 1}
	m[fold("NUL")] = Chord{text: " ", mods: ctrl, times: 1}
	return m
}}

// Names lists the named keys in the spelling that String uses, mouse actions
// left out: for help and completion.
func Names() []string {
	names := make([]string, 0, len(table.Get()))
	for _, r := range table.Get()[1:] {
		names = append(names, r.name)
	}
	return append(names, "Space")
}

// fold makes "Page_Up", "page-up" and "PAGEUP" one name. A sign that is a key of the keypad stays.
func fold(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "kp") {
		name = strings.ReplaceAll(name, "_", "")
		if len(name) <= 3 {
			return name
		}
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name)
}

// character is the key that types text on a US keyboard.
func character(text string) Chord {
	if low, ok := unshifted(text); ok {
		return Chord{text: low, mods: shift, times: 1}
	}
	return Chord{text: text, times: 1}
}
