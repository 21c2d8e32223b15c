package keys_test

import (
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

func parse(t *testing.T, s string) keys.Chord {
	t.Helper()
	c, err := keys.Parse(s)
	if err != nil {
		t.Fatalf("Parse(%q): %v", s, err)
	}
	return c
}

// One line, one chord: the first spelling is the canonical one.
func TestParseSpellings(t *testing.T) {
	for _, line := range []string{
		"Enter|Return|CR|enter|ENTER|<CR>|<Enter>| Enter ",
		"Escape|Esc|escape|<Esc>",
		"Backspace|BSpace|BS|back_space|Back-Space",
		"Delete|Del|DC", "Insert|Ins|IC",
		"PageUp|PgUp|PPage|page_up|Page-Up|page up", "PageDown|PgDn|NPage|PgDown",
		"S-Tab|BTab|BackTab|Shift+Tab|shift-tab|<S-Tab>",
		"Up|ArrowUp|up", "F1|f1", "F35|f35",
		"C-c|Ctrl+C|Ctrl+c|ctrl-c|^C|^c|Control+C|CTRL+C|<C-c>|Ctrl + C|c-c",
		"C-S-a|C-A|Ctrl+Shift+A|Ctrl+Shift+a|Shift+Ctrl+a|S-C-a",
		"M-x|Alt+x|Meta+x|Option+x|A-x|alt-x", "M-X|Alt+Shift+x|S-M-x|Alt+X",
		"C-M-S-Up|Ctrl+Alt+Shift+Up|S-M-C-up",
		"Super-k|Cmd+k|Command+k|Win+k|Super+k|D-k", "Hyper-k|Hyper+k",
		"Space| |Spc|space|<Space>", "C-Space|Ctrl+Space|C- |NUL", "C-j|LF|LineFeed|Ctrl+J",
		"A|S-a|Shift+a|Shift+A", "!|S-1|Shift+1|Bang", "+|Plus|S-=|Shift+=", "-|Minus|Hyphen",
		"C-+|Ctrl++|Ctrl+Plus|C-Plus", "C--|Ctrl+-|Ctrl--|Ctrl+Minus", "M-+|Alt++", "*|Star|Asterisk",
		"C-/|Ctrl+/|Ctrl+Slash", "C-1|Ctrl+1", "C-_|Ctrl+_|Ctrl+Shift+-",
		"É|S-é|Shift+é", "é|e\u0301", "ß", "日", "👩‍👩‍👧", "🇫🇷", "M-é|Alt+é", "Ω|S-ω",
		"KP0|kp0|KP_0", "KP+|KPPlus|KPAdd|kp+", "KP-|KPMinus", "KP*|KPStar", "KPEnter|kp_enter", "C-KP-|Ctrl+KP-",
		"Down*5|down*5|Down*05", "**3|Star*3", "C-c*2", "KP**3",
		"Click:3,10|click:3,10|Click: 3, 10", "C-Click:3,4|Ctrl+Click:3,4", "WheelUp:0,0*3|wheel_up:0,0*3|wheel-up:0,0*3",
		"Drag:1,2-3,40|drag:1,2-3,40", "RightClick:5,5", "M-S-DoubleClick:0,1", "FocusIn|focusin|focus_in", "FocusOut",
	} {
		spellings := strings.Split(line, "|")
		want := parse(t, spellings[0])
		for _, s := range spellings {
			if s == "e\u0301" {
				continue // The same letter to people, another string to programs.
			}
			got := parse(t, s)
			if got != want {
				t.Errorf("Parse(%q) is %v, want %v as for %q", s, got, want, spellings[0])
			}
		}
		if got := want.String(); got != spellings[0] && got != canonical[spellings[0]] {
			t.Errorf("%q spells itself %q", spellings[0], got)
		}
	}
}

// canonical has the spellings that come out another way than this table writes them.
var canonical = map[string]string{"C-+": "C-S-=", "C-_": "C-S--"}

func TestParseErrors(t *testing.T) {
	for s, want := range map[string]string{
		"":              "empty key",
		"   ":           "empty key",
		"Entr":          `did you mean "Enter"?`,
		"Ctrl+Entr":     `did you mean "C-Enter"?`,
		"Escpe":         `did you mean "Escape"?`,
		"PageUpp":       `did you mean "PageUp"?`,
		"F36":           `did you mean "F3`,
		"Ctlr+c":        `did you mean "C-c"?`,
		"Contrl+Up":     `did you mean "C-Up"?`,
		"hello world, ": "use type",
		"rm -rf":        "use type",
		"C-C-c":         `"C" is given twice`,
		"Ctrl+C-x":      `"C" is given twice`,
		"Down*0":        "from 1 to",
		"Down*99999":    "from 1 to",
		"Clik:1,2":      `did you mean "Click:ROW,COL"?`,
		"Frob:1,2":      "unknown mouse action",
		"Click:1":       `"1" is not a place`,
		"Click:":        "is not a place",
		"Click:a,b":     `"a,b" is not a place`,
		"Click:-1,2":    "spelled Click:ROW,COL",
		"Drag:1,2":      "spelled Drag:ROW,COL-ROW,COL",
		"Click:1,2-3,4": "spelled Click:ROW,COL",
		"Drag:1,2-x":    `"x" is not a place`,
		"C-FocusIn":     "no modifiers",
		"\x1b":          "unknown key",
		"\xff":          "unknown key",
		"C-":            "unknown key",
		"Ctrl+":         "unknown key",
		"<>":            "unknown key",
	} {
		c, err := keys.Parse(s)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, %v; want a usage error with %q", s, c, err, want)
		}
	}
}

func TestOnceAndTimes(t *testing.T) {
	c := parse(t, "Down*5")
	if c.Times() != 5 || c.Once() != parse(t, "Down") || c.Once().Times() != 1 {
		t.Errorf("Down*5: %d times %v", c.Times(), c.Once())
	}
	all, err := c.Encode(vt.Modes{})
	if err != nil || string(all) != strings.Repeat("\x1b[B", 5) {
		t.Errorf("Down*5 = %q, %v", all, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"C-c", "Ctrl+Shift+é", "Down*5", "Click:1,2", "Drag:1,2-3,4", "KP*", "**3", "<C-x>", "^[", "C--", "M- ", "🇫🇷", "Super-Hyper-F13", "S-ß", "ǅ", "İ", "C-S-Kelvin"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := keys.Parse(s)
		if err != nil {
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("Parse(%q): %v is a %s", s, err, fault.KindOf(err))
			}
			return
		}
		again, err := keys.Parse(c.String())
		if err != nil || again != c {
			t.Errorf("Parse(%q) = %q, which parses as %q, %v", s, c, again, err)
		}
		if c.Times() > 100 {
			c = c.Once()
		}
		for _, m := range []vt.Modes{{}, {KittyFlags: 31}, {KittyFlags: 1}, {ModifyOtherKeys: 2}, {ModifyOtherKeys: 1}, {Mouse: vt.MouseAny, MouseEncoding: vt.MouseSGR, Focus: true}} {
			b, err := c.Encode(m)
			if err != nil && fault.KindOf(err) != fault.Unsupported || err == nil && len(b) == 0 {
				t.Errorf("%q in %+v = %q, %v", c, m, b, err)
			}
		}
	})
}
