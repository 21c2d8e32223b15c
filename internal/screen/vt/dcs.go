package vt

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
)

// beginDCS decides, at a device control string's final byte, whether den
// reads its text.
func (t *Terminal) beginDCS(final byte) state {
	t.forgetLast()
	ps := &t.parser
	switch {
	case final == 'q' && ps.prefix == 0 && (ps.mid[0] == '$' || ps.mid[0] == '+') && ps.mid[1] == 0:
		return dcsText
	case final == 'q' && ps.prefix == 0 && ps.mid[0] == 0:
		return sixel
	}
	return strIgnore
}

func (t *Terminal) dispatchDCS(text []byte) {
	if t.parser.mid[0] == '$' {
		t.reportSetting(string(text))
	} else {
		t.reportCapabilities(text)
	}
}

// reportSetting answers DECRQSS.
func (t *Terminal) reportSetting(what string) {
	m := &t.margins
	var value string
	switch what {
	case "m":
		value = string(appendSGRSetting(nil, t.cur.pen.style))
	case "r":
		value = fmt.Sprintf("%d;%d", m.top+1, m.bottom+1)
	case "s":
		value = fmt.Sprintf("%d;%d", m.left+1, m.right+1)
	case " q":
		value = strconv.Itoa(t.cursorStyle())
	case `"q`:
		value = "0"
		if t.cur.pen.protected {
			value = "1"
		}
	case `"p`:
		value = "62;1"
	case "t":
		value = strconv.Itoa(t.rows)
	case "$|":
		value = strconv.Itoa(t.cols)
	case "*|":
		value = strconv.Itoa(t.rows)
	default:
		t.reply("\x1bP0$r\x1b\\")
		return
	}
	t.reply("\x1bP1$r" + value + what + "\x1b\\")
}

// cursorStyle is the number that DECSCUSR would set.
func (t *Terminal) cursorStyle() int {
	n := 2 * (int(t.modes.cursorShape) + 1)
	if t.modes.has(modeCursorBlink) {
		n--
	}
	return n
}

type capability struct{ name, value string }

// capabilities are the replies to XTGETTCAP that do not depend on state.
var capabilities = [...]capability{
	{"TN", "xterm-256color"}, {"name", "xterm-256color"},
	{"Co", "256"}, {"colors", "256"}, {"RGB", "8/8/8"}, {"Tc", ""},
	{"Su", ""}, {"Smulx", "\x1b[4:%p1%dm"}, {"Setulc", "\x1b[58:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m"},
	{"Ms", "\x1b]52;%p1%s;%p2%s\x1b\\"}, {"Ss", "\x1b[%p1%d q"}, {"Se", "\x1b[2 q"},
	{"setrgbf", "\x1b[38:2:%p1%d:%p2%d:%p3%dm"}, {"setrgbb", "\x1b[48:2:%p1%d:%p2%d:%p3%dm"},
	{"bce", ""}, {"am", ""}, {"ccc", ""}, {"hs", ""}, {"km", ""}, {"mir", ""}, {"msgr", ""}, {"xenl", ""},
	{"cup", "\x1b[%i%p1%d;%p2%dH"}, {"clear", "\x1b[H\x1b[2J"}, {"el", "\x1b[K"}, {"ed", "\x1b[J"},
	{"smcup", "\x1b[?1049h"}, {"rmcup", "\x1b[?1049l"}, {"civis", "\x1b[?25l"}, {"cnorm", "\x1b[?12l\x1b[?25h"},
	{"sgr0", "\x1b(B\x1b[m"}, {"bold", "\x1b[1m"}, {"smul", "\x1b[4m"}, {"rmul", "\x1b[24m"}, {"sitm", "\x1b[3m"}, {"ritm", "\x1b[23m"},
	{"rev", "\x1b[7m"}, {"smso", "\x1b[7m"}, {"rmso", "\x1b[27m"}, {"smxx", "\x1b[9m"}, {"rmxx", "\x1b[29m"}, {"dim", "\x1b[2m"},
	{"setaf", "\x1b[%?%p1%{8}%<%t3%p1%d%e%p1%{16}%<%t9%p1%{8}%-%d%e38;5;%p1%d%;m"},
	{"setab", "\x1b[%?%p1%{8}%<%t4%p1%d%e%p1%{16}%<%t10%p1%{8}%-%d%e48;5;%p1%d%;m"},
}

// reportCapabilities answers XTGETTCAP: hex names divided by semicolons, each
// in a reply of its own. An unknown name is not repeated.
func (t *Terminal) reportCapabilities(text []byte) {
	for f := range bytes.SplitSeq(text, []byte{';'}) {
		name, err := hex.DecodeString(string(f))
		at := slices.IndexFunc(capabilities[:], func(c capability) bool { return c.name == string(name) })
		switch {
		case err != nil || at < 0:
			t.reply("\x1bP0+r\x1b\\")
		case capabilities[at].value == "":
			t.replyf("\x1bP1+r%X\x1b\\", name)
		default:
			t.replyf("\x1bP1+r%X=%X\x1b\\", name, capabilities[at].value)
		}
	}
}
