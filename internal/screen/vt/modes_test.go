package vt_test

import (
	"testing"

	"den/internal/screen/vt"
)

func TestModes(t *testing.T) {
	usual := vt.Modes{AutoWrap: true}
	with := func(change func(*vt.Modes)) vt.Modes {
		m := usual
		change(&m)
		return m
	}
	for _, c := range []struct {
		in   string
		want vt.Modes
	}{
		{"", usual},
		{"\x1b[?1h", with(func(m *vt.Modes) { m.AppCursor = true })},
		{"\x1b[?1h\x1b[?1l", usual},
		{"\x1b=", with(func(m *vt.Modes) { m.AppKeypad = true })},
		{"\x1b[?66h\x1b>", usual},
		{"\x1b[?2004;1004h", with(func(m *vt.Modes) { m.BracketedPaste, m.Focus = true, true })},
		{"\x1b[20h\x1b[4h", with(func(m *vt.Modes) { m.NewLine, m.Insert = true, true })},
		{"\x1b[?2026h", with(func(m *vt.Modes) { m.Sync = true })},
		{"\x1b[?5h\x1b[?7l\x1b[?45h\x1b[?6h", with(func(m *vt.Modes) { m.ReverseVideo, m.AutoWrap, m.ReverseWrap, m.Origin = true, false, true, true })},
		{"\x1b[?67h\x1b[?1007h", with(func(m *vt.Modes) { m.BackarrowKey, m.AltScroll = true, true })},
		{"\x1b[?9h", with(func(m *vt.Modes) { m.Mouse = vt.MouseX10 })},
		{"\x1b[?1000h\x1b[?1003h\x1b[?1006h", with(func(m *vt.Modes) { m.Mouse, m.MouseEncoding = vt.MouseAny, vt.MouseSGR })},
		{"\x1b[?1002h\x1b[?1005h\x1b[?1005l", with(func(m *vt.Modes) { m.Mouse = vt.MouseButton })},
		{"\x1b[?1002h\x1b[?1016h\x1b[?1002l", with(func(m *vt.Modes) { m.MouseEncoding = vt.MouseSGRPixels })},
		{"\x1b[?1015h", with(func(m *vt.Modes) { m.MouseEncoding = vt.MouseURxvt })},
		{"\x1b[?1049h", with(func(m *vt.Modes) { m.AltScreen = true })},
		{"\x1b[>4;2m", with(func(m *vt.Modes) { m.ModifyOtherKeys = 2 })},
		{"\x1b[>4;2m\x1b[>4m", usual},
		{"\x1b[>4;2m\x1b[>4n", usual},
		{"\x1b[>1u\x1b[=2;2u", with(func(m *vt.Modes) { m.KittyFlags = 3 })},
		{"\x1b[>1u\x1b[=2;2u\x1b[=1;3u", with(func(m *vt.Modes) { m.KittyFlags = 2 })},
		{"\x1b[>1u\x1b[?1049h", with(func(m *vt.Modes) { m.AltScreen = true })},
		{"\x1b[>1u\x1b[?1049h\x1b[>4u\x1b[?1049l", with(func(m *vt.Modes) { m.KittyFlags = 1 })},
		{"\x1b[>1u\x1b[>2u\x1b[<u", with(func(m *vt.Modes) { m.KittyFlags = 1 })},
		{"\x1b[>1u\x1b[>2u\x1b[<99u", usual},
		{"\x1b[?1;7s\x1b[?1h\x1b[?7l\x1b[?1;7r", usual},
		{"\x1b[?1000h\x1b[?1000s\x1b[?1000l\x1b[?1000r", with(func(m *vt.Modes) { m.Mouse = vt.MouseNormal })},
		{"\x1b[?1;5;2004h\x1b[4h\x1b[>1u\x1bc", usual},
	} {
		term := vt.New(config(10, 4, 0))
		term.Write([]byte(c.in))
		if got := term.Modes(); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.in, got, c.want)
		}
	}
}

func TestCursorStyle(t *testing.T) {
	for in, want := range map[string]vt.Cursor{
		"":                   {Visible: true},
		"\x1b[?25l":          {},
		"\x1b[1 q":           {Visible: true, Blink: true},
		"\x1b[4 q":           {Visible: true, Shape: vt.CursorUnderline},
		"\x1b[5 q":           {Visible: true, Shape: vt.CursorBar, Blink: true},
		"\x1b[5 q\x1b[?12l":  {Visible: true, Shape: vt.CursorBar},
		"\x1b[6 q\x1b[9 q":   {Visible: true, Shape: vt.CursorBar},
		"0123456789":         {Visible: true, Col: 9, PendingWrap: true},
		"\x1b[5 q\x1b[0 q":   {Visible: true},
		"\x1b[3;4H\x1b[?25h": {Visible: true, Row: 2, Col: 3},
	} {
		term := vt.New(config(10, 4, 0))
		term.Write([]byte(in))
		if got := term.Cursor(); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestGenerationChanges(t *testing.T) {
	term := vt.New(config(10, 4, 0))
	last := term.Generation()
	for _, s := range []string{"x", "\x1b[H", "\x1b[?25l", "\x1b]2;t\a"} {
		term.Write([]byte(s))
		if g := term.Generation(); g == last {
			t.Errorf("%q left the generation as it was", s)
		} else {
			last = g
		}
	}
	term.Resize(20, 4)
	if term.Generation() == last {
		t.Error("a resize left the generation as it was")
	}
	last = term.Generation()
	term.Resize(20, 4)
	term.Write(nil)
	term.Dump()
	if term.Generation() != last {
		t.Error("nothing changed the generation")
	}
}
