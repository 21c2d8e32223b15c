package keys_test

import (
	"fmt"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

var (
	legacy   = vt.Modes{}
	app      = vt.Modes{AppCursor: true, AppKeypad: true}
	other1   = vt.Modes{ModifyOtherKeys: 1}
	other2   = vt.Modes{ModifyOtherKeys: 2}
	kitty1   = vt.Modes{KittyFlags: 1}
	kitty5   = vt.Modes{KittyFlags: 1 | 4}
	kitty9   = vt.Modes{KittyFlags: 1 | 8}
	kittyAll = vt.Modes{KittyFlags: 31}
)

// Byte sequences as xterm and kitty document and send them.
func TestEncode(t *testing.T) {
	const no = "unsupported"
	tests := []struct {
		chord string
		m     vt.Modes
		want  string
	}{
		// xterm's defaults.
		{"a", legacy, "a"}, {"A", legacy, "A"}, {"é", legacy, "é"}, {"日", legacy, "日"}, {"👩‍👩‍👧", legacy, "👩‍👩‍👧"}, {"!", legacy, "!"}, {"Shift+1", legacy, "!"},
		{"Space", legacy, " "}, {"Enter", legacy, "\r"}, {"Tab", legacy, "\t"}, {"Escape", legacy, "\x1b"}, {"Backspace", legacy, "\x7f"},
		{"C-a", legacy, "\x01"}, {"C-A", legacy, "\x01"}, {"C-z", legacy, "\x1a"}, {"C-Space", legacy, "\x00"}, {"C-@", legacy, "\x00"}, {"C-2", legacy, "\x00"},
		{"C-[", legacy, "\x1b"}, {"C-3", legacy, "\x1b"}, {`C-\`, legacy, "\x1c"}, {"C-]", legacy, "\x1d"}, {"C-^", legacy, "\x1e"}, {"C-6", legacy, "\x1e"},
		{"C-_", legacy, "\x1f"}, {"C-/", legacy, "\x1f"}, {"C-?", legacy, "\x7f"}, {"C-8", legacy, "\x7f"}, {"C-1", legacy, "1"}, {"C-9", legacy, "9"}, {"C-;", legacy, ";"},
		{"M-x", legacy, "\x1bx"}, {"M-X", legacy, "\x1bX"}, {"C-M-a", legacy, "\x1b\x01"}, {"M-é", legacy, "\x1bé"}, {"M-Enter", legacy, "\x1b\r"},
		{"C-Enter", legacy, "\r"}, {"S-Enter", legacy, "\r"}, {"C-Tab", legacy, "\t"}, {"S-Tab", legacy, "\x1b[Z"}, {"M-Tab", legacy, "\x1b\t"}, {"M-S-Tab", legacy, "\x1b\x1b[Z"},
		{"C-Backspace", legacy, "\b"}, {"M-Backspace", legacy, "\x1b\x7f"}, {"M-Escape", legacy, "\x1b\x1b"},
		{"Up", legacy, "\x1b[A"}, {"Down", legacy, "\x1b[B"}, {"Right", legacy, "\x1b[C"}, {"Left", legacy, "\x1b[D"}, {"Home", legacy, "\x1b[H"}, {"End", legacy, "\x1b[F"},
		{"S-Up", legacy, "\x1b[1;2A"}, {"M-Up", legacy, "\x1b[1;3A"}, {"C-Left", legacy, "\x1b[1;5D"}, {"C-M-S-Up", legacy, "\x1b[1;8A"}, {"Super-Up", legacy, "\x1b[1;9A"},
		{"Insert", legacy, "\x1b[2~"}, {"Delete", legacy, "\x1b[3~"}, {"PageUp", legacy, "\x1b[5~"}, {"PageDown", legacy, "\x1b[6~"}, {"C-Delete", legacy, "\x1b[3;5~"},
		{"F1", legacy, "\x1bOP"}, {"F4", legacy, "\x1bOS"}, {"F5", legacy, "\x1b[15~"}, {"F12", legacy, "\x1b[24~"}, {"S-F1", legacy, "\x1b[1;2P"}, {"C-F5", legacy, "\x1b[15;5~"},
		{"F13", legacy, "\x1b[1;2P"}, {"F20", legacy, "\x1b[19;2~"}, {"F25", legacy, "\x1b[1;5P"}, {"F35", legacy, "\x1b[23;5~"},
		{"KP5", legacy, "5"}, {"KP+", legacy, "+"}, {"KPEnter", legacy, "\r"}, {"S-KP5", legacy, "5"}, {"KPUp", legacy, "\x1b[A"}, {"KPBegin", legacy, "\x1b[E"},
		{"Super-k", legacy, no}, {"Cmd+Enter", legacy, no}, {"C-é", legacy, no}, {"CapsLock", legacy, no}, {"Menu", legacy, "\x1b[29~"},

		// Application modes, and the others that change single keys.
		{"Up", app, "\x1bOA"}, {"Home", app, "\x1bOH"}, {"C-Up", app, "\x1b[1;5A"}, {"Insert", app, "\x1b[2~"}, {"F1", app, "\x1bOP"},
		{"KP5", app, "\x1bOu"}, {"KP0", app, "\x1bOp"}, {"KP9", app, "\x1bOy"}, {"KPEnter", app, "\x1bOM"}, {"KP+", app, "\x1bOk"}, {"KP.", app, "\x1bOn"}, {"KP/", app, "\x1bOo"}, {"KP-", app, "\x1bOm"}, {"KP*", app, "\x1bOj"}, {"KP=", app, "\x1bOX"}, {"5", app, "5"},
		{"Enter", vt.Modes{NewLine: true}, "\r\n"}, {"M-Enter", vt.Modes{NewLine: true}, "\x1b\r\n"},
		{"Backspace", vt.Modes{BackarrowKey: true}, "\b"}, {"C-Backspace", vt.Modes{BackarrowKey: true}, "\x7f"},

		// modifyOtherKeys.
		{"C-Enter", other1, "\x1b[27;5;13~"}, {"S-Enter", other1, "\x1b[27;2;13~"}, {"C-Tab", other1, "\x1b[27;5;9~"}, {"C-1", other1, "\x1b[27;5;49~"}, {"C-;", other1, "\x1b[27;5;59~"},
		{"C-a", other1, "\x01"}, {"C-/", other1, "\x1f"}, {"M-x", other1, "\x1bx"}, {"A", other1, "A"}, {"S-Tab", other1, "\x1b[Z"}, {"C-Space", other1, "\x00"}, {"C-Up", other1, "\x1b[1;5A"},
		{"Backspace", other1, "\x7f"}, {"C-Backspace", other1, "\b"}, {"M-Enter", other1, "\x1b\r"}, {"Enter", other1, "\r"},
		{"C-a", other2, "\x1b[27;5;97~"}, {"C-A", other2, "\x1b[27;6;65~"}, {"M-x", other2, "\x1b[27;3;120~"}, {"A", other2, "A"}, {"!", other2, "!"}, {"S-Enter", other2, "\x1b[27;2;13~"}, {"S-Space", other2, "\x1b[27;2;32~"}, {"a", other2, "a"}, {"é", other2, "é"}, {"C-é", other2, "\x1b[27;5;233~"}, {"C-Backspace", other2, "\b"},

		// kitty: disambiguate.
		{"a", kitty1, "a"}, {"A", kitty1, "A"}, {"Enter", kitty1, "\r"}, {"Tab", kitty1, "\t"}, {"Backspace", kitty1, "\x7f"}, {"Escape", kitty1, "\x1b[27u"}, {"Space", kitty1, " "},
		{"C-c", kitty1, "\x1b[99;5u"}, {"Ctrl+C", kitty1, "\x1b[99;5u"}, {"C-C", kitty1, "\x1b[99;6u"}, {"M-x", kitty1, "\x1b[120;3u"}, {"M-X", kitty1, "\x1b[120;4u"}, {"C-Space", kitty1, "\x1b[32;5u"},
		{"S-Enter", kitty1, "\x1b[13;2u"}, {"C-Enter", kitty1, "\x1b[13;5u"}, {"S-Tab", kitty1, "\x1b[9;2u"}, {"C-Backspace", kitty1, "\x1b[127;5u"}, {"C-1", kitty1, "\x1b[49;5u"}, {"C-/", kitty1, "\x1b[47;5u"}, {"C-_", kitty1, "\x1b[45;6u"},
		{"Super-k", kitty1, "\x1b[107;9u"}, {"Hyper-k", kitty1, "\x1b[107;17u"}, {"C-é", kitty1, "\x1b[233;5u"},
		{"Up", kitty1, "\x1b[A"}, {"Up", vt.Modes{KittyFlags: 1, AppCursor: true}, "\x1b[A"}, {"C-Up", kitty1, "\x1b[1;5A"}, {"F1", kitty1, "\x1b[P"}, {"F3", kitty1, "\x1b[13~"}, {"S-F3", kitty1, "\x1b[13;2~"}, {"F5", kitty1, "\x1b[15~"}, {"F13", kitty1, "\x1b[57376u"}, {"F35", kitty1, "\x1b[57398u"}, {"Delete", kitty1, "\x1b[3~"},
		{"KP5", kitty1, "5"}, {"KPEnter", kitty1, "\x1b[57414u"}, {"C-KP5", kitty1, "\x1b[57404;5u"}, {"KPUp", kitty1, "\x1b[57419u"}, {"CapsLock", kitty1, "\x1b[57358u"}, {"Menu", kitty1, "\x1b[57363u"},
		// kitty: event types without disambiguation keep the old bytes of a press.
		{"C-c", vt.Modes{KittyFlags: 2}, "\x03"}, {"Escape", vt.Modes{KittyFlags: 2}, "\x1b"}, {"S-Tab", vt.Modes{KittyFlags: 2}, "\x1b[Z"}, {"KPEnter", vt.Modes{KittyFlags: 2}, "\r"},
		// kitty: alternate keys.
		{"C-A", kitty5, "\x1b[97:65;6u"}, {"C-a", kitty5, "\x1b[97;5u"}, {"M-!", kitty5, "\x1b[49:33;4u"},
		// kitty: all keys as escapes.
		{"a", kitty9, "\x1b[97u"}, {"A", kitty9, "\x1b[97;2u"}, {"Enter", kitty9, "\x1b[13u"}, {"Tab", kitty9, "\x1b[9u"}, {"Backspace", kitty9, "\x1b[127u"}, {"Space", kitty9, "\x1b[32u"}, {"KP5", kitty9, "\x1b[57404u"}, {"日", kitty9, "\x1b[26085u"}, {"👩‍👩‍👧", kitty9, "👩‍👩‍👧"},
		// kitty: everything on.
		{"a", kittyAll, "\x1b[97;;97u"}, {"A", kittyAll, "\x1b[97:65;2;65u"}, {"!", kittyAll, "\x1b[49:33;2;33u"}, {"C-a", kittyAll, "\x1b[97;5u"}, {"Enter", kittyAll, "\x1b[13u"}, {"KP5", kittyAll, "\x1b[57404;;53u"}, {"Up", kittyAll, "\x1b[A"}, {"é", kittyAll, "\x1b[233;;233u"}, {"É", kittyAll, "\x1b[233:201;2;201u"},
		// kitty outranks the others.
		{"C-a", vt.Modes{KittyFlags: 1, ModifyOtherKeys: 2}, "\x1b[97;5u"},

		{"FocusIn", vt.Modes{Focus: true}, "\x1b[I"}, {"FocusOut", vt.Modes{Focus: true}, "\x1b[O"}, {"FocusIn", legacy, no},
	}
	for _, tt := range tests {
		got, err := parse(t, tt.chord).Encode(tt.m)
		if tt.want == no {
			if fault.KindOf(err) != fault.Unsupported {
				t.Errorf("%s in %s = %q, %v; want unsupported", tt.chord, name(tt.m), got, err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s in %s = %q, %v; want %q", tt.chord, name(tt.m), got, err, tt.want)
		}
	}
}

func name(m vt.Modes) string {
	return fmt.Sprintf("kitty %d other %d cursor %v keypad %v", m.KittyFlags, m.ModifyOtherKeys, m.AppCursor, m.AppKeypad)
}

func TestEncodeMouse(t *testing.T) {
	const no = "unsupported"
	mode := func(m vt.MouseMode, e vt.MouseEncoding) vt.Modes { return vt.Modes{Mouse: m, MouseEncoding: e} }
	sgr := mode(vt.MouseNormal, vt.MouseSGR)
	button := mode(vt.MouseButton, vt.MouseSGR)
	anything := mode(vt.MouseAny, vt.MouseSGR)
	old := mode(vt.MouseNormal, vt.MouseDefault)
	tests := []struct {
		chord string
		m     vt.Modes
		want  string
	}{
		{"Click:0,0", legacy, no},
		{"WheelUp:0,0", vt.Modes{AltScreen: true, AltScroll: true, AppCursor: true}, "\x1bOA\x1bOA\x1bOA"},
		{"WheelDown:0,0", vt.Modes{AltScreen: true, AltScroll: true}, "\x1b[B\x1b[B\x1b[B"},
		{"WheelUp:0,0", vt.Modes{AltScroll: true}, no},
		{"Click:4,9", sgr, "\x1b[<0;10;5M\x1b[<0;10;5m"},
		{"RightClick:0,0", sgr, "\x1b[<2;1;1M\x1b[<2;1;1m"},
		{"MiddleClick:0,0", sgr, "\x1b[<1;1;1M\x1b[<1;1;1m"},
		{"DoubleClick:0,0", sgr, "\x1b[<0;1;1M\x1b[<0;1;1m\x1b[<0;1;1M\x1b[<0;1;1m"},
		{"C-Click:0,0", sgr, "\x1b[<16;1;1M\x1b[<16;1;1m"},
		{"C-M-S-Press:0,0", sgr, "\x1b[<28;1;1M"},
		{"Press:1,2", sgr, "\x1b[<0;3;2M"},
		{"Release:1,2", sgr, "\x1b[<0;3;2m"},
		{"WheelUp:1,2", sgr, "\x1b[<64;3;2M"},
		{"WheelDown:1,2*2", sgr, "\x1b[<65;3;2M\x1b[<65;3;2M"},
		{"WheelLeft:1,2", sgr, "\x1b[<66;3;2M"},
		{"Move:1,2", sgr, no},
		{"Move:1,2", button, no},
		{"Move:1,2", anything, "\x1b[<35;3;2M"},
		{"Drag:0,0-1,2", sgr, "\x1b[<0;1;1M\x1b[<0;3;2m"},
		{"Drag:0,0-1,2", button, "\x1b[<0;1;1M\x1b[<32;3;2M\x1b[<0;3;2m"},
		{"RightDrag:0,0-1,2", anything, "\x1b[<2;1;1M\x1b[<34;3;2M\x1b[<2;3;2m"},
		{"Press:1,2", mode(vt.MouseNormal, vt.MouseSGRPixels), "\x1b[<0;22;30M"},
		{"Click:999,999", sgr, "\x1b[<0;1000;1000M\x1b[<0;1000;1000m"},

		{"Click:0,0", old, "\x1b[M !!\x1b[M#!!"},
		{"C-Click:0,0", old, "\x1b[M0!!\x1b[M3!!"},
		{"WheelUp:0,0", old, "\x1b[M`!!"},
		{"Click:0,222", old, "\x1b[M \xff!\x1b[M#\xff!"},
		{"Click:0,223", old, no},
		{"Click:223,0", old, no},
		{"Click:0,0", mode(vt.MouseX10, vt.MouseDefault), "\x1b[M !!"},
		{"C-RightClick:0,0", mode(vt.MouseX10, vt.MouseDefault), "\x1b[M\"!!"},
		{"WheelUp:0,0", mode(vt.MouseX10, vt.MouseDefault), no},
		{"Release:0,0", mode(vt.MouseX10, vt.MouseDefault), no},
		{"Drag:0,0-1,1", mode(vt.MouseX10, vt.MouseDefault), no},
		{"Click:0,300", mode(vt.MouseNormal, vt.MouseUTF8), "\x1b[M \u014d!\x1b[M#\u014d!"},
		{"Click:0,3000", mode(vt.MouseNormal, vt.MouseUTF8), no},
		{"Click:4,9", mode(vt.MouseNormal, vt.MouseURxvt), "\x1b[32;10;5M\x1b[35;10;5M"},
	}
	for _, tt := range tests {
		got, err := parse(t, tt.chord).Encode(tt.m)
		if tt.want == no {
			if fault.KindOf(err) != fault.Unsupported {
				t.Errorf("%s in mode %d encoding %d = %q, %v; want unsupported", tt.chord, tt.m.Mouse, tt.m.MouseEncoding, got, err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s in mode %d encoding %d = %q, %v; want %q", tt.chord, tt.m.Mouse, tt.m.MouseEncoding, got, err, tt.want)
		}
	}
}

// The cell that pixel clicks count in is the one that the emulator tells programs of.
func TestPixelsAgreeWithTheEmulator(t *testing.T) {
	term := vt.New(vt.Config{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b[16t"))
	if got := string(term.TakeReplies()); got != "\x1b[6;20;9t" {
		t.Errorf("the emulator says its cells are %q, clicks assume 20 by 9", got)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\nb": "a\rb", "a\r\nb": "a\rb", "\r\n\r\n": "\r\r", "é\x1b[A\x03": "é\x1b[A\x03"} {
		if got := keys.Text(in); string(got) != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPaste(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"hello":                  "hello",
		"a\nb\r\nc\rd":           "a\rb\rc\rd",
		"tab\there":              "tab\there",
		"x\x1b[201~rm -rf /\n":   "x[201~rm -rf /\r",
		"x\u009b201~y":           "x201~y",
		"x\x9b201~y":             "x201~y",
		"\x03\x04\x1a\x7f\x00":   "",
		"日本 é 👩‍👩‍👧":             "日本 é 👩‍👩‍👧",
		"\xff\xfe latin \xe9 ok": "\xff\xfe latin \xe9 ok",
	} {
		if got := keys.Paste([]byte(in), vt.Modes{}); string(got) != want {
			t.Errorf("Paste(%q) = %q, want %q", in, got, want)
		}
		if got := keys.Paste([]byte(in), vt.Modes{BracketedPaste: true}); string(got) != "\x1b[200~"+want+"\x1b[201~" {
			t.Errorf("bracketed Paste(%q) = %q, want %q between marks", in, got, want)
		}
	}
}

func FuzzPaste(f *testing.F) {
	f.Add([]byte("x\x1b[201~y"))
	f.Add([]byte("\x1b\x1b[201~[201~"))
	f.Add([]byte("\xc2\x1b\x9b201~"))
	f.Add([]byte("\xc2\xc2\x9b\x9b201~"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := string(keys.Paste(text, vt.Modes{BracketedPaste: true}))
		body, ok := strings.CutPrefix(got, "\x1b[200~")
		body, ok2 := strings.CutSuffix(body, "\x1b[201~")
		if !ok || !ok2 {
			t.Fatalf("Paste(%q) = %q: marks missing", text, got)
		}
		if strings.ContainsAny(body, "\x1b\x03\n\x00\x7f") || strings.Contains(body, "\u009b") {
			t.Errorf("Paste(%q) = %q: a control character got through", text, got)
		}
		if plain := string(keys.Paste(text, vt.Modes{})); plain != body {
			t.Errorf("Paste(%q) without marks = %q, with %q", text, plain, body)
		}
		if again := string(keys.Paste([]byte(body), vt.Modes{})); again != body {
			t.Errorf("pasting %q again gives %q", body, again)
		}
	})
}
