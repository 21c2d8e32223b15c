package render_test

import (
	"bytes"
	"strings"
	"testing"

	"den/internal/screen/render"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

var secret = "ghp_" + strings.Repeat("aB3d", 9)

// A screen on which a secret was covered is the screen on which bars stood in
// its place, however the secret came there.
func TestRedactedPicturesShowBars(t *testing.T) {
	r, err := redact.New([]string{"秘密"}, true)
	if err != nil {
		t.Fatal(err)
	}
	half := len(secret) / 2
	for name, in := range map[string]string{
		"plain":                 "token " + secret + " end",
		"wrapped by terminal":   strings.Repeat(".", 69) + " " + secret + " end",
		"wrapped by program":    "\x1b[1;60H" + secret[:21] + "\x1b[2;1H" + secret[21:] + " end",
		"in parts and colours":  "a \x1b[31m" + secret[:half] + "\x1b[32m" + secret[half:] + "\x1b[m b",
		"on another background": "\x1b[44m" + secret + "\x1b[m",
		"wide":                  "x 秘密 y",
	} {
		t.Run(name, func(t *testing.T) {
			term := vt.New(vt.Config{Cols: 80, Rows: 5})
			term.Write([]byte(in))
			g := render.FromTerminal(term, themeOf(t))
			before := shown(g)
			g.Redact(term, r)
			after := shown(g)
			if strings.Contains(after, secret[:8]) || strings.Contains(after, secret[half:half+6]) || strings.Contains(after, "秘") {
				t.Errorf("still shown:\n%s", after)
			}
			if len([]rune(before)) > 0 && strings.Count(after, "█") == 0 {
				t.Error("nothing was covered")
			}
			for _, keep := range []string{"token ", " end"} {
				if strings.Contains(in, keep) && !strings.Contains(after, keep) {
					t.Errorf("%q is covered too:\n%s", keep, after)
				}
			}
			svg, err := renderer(t, render.Options{}, "").SVG(g)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(svg.Data, []byte(secret[:8])) {
				t.Error("the SVG has it as text")
			}
		})
	}
}

// A secret whose beginning has scrolled off is known by it all the same.
func TestHalfASecretOnTheScreenIsCovered(t *testing.T) {
	r, err := redact.New(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	key := "-----BEGIN RSA PRIVATE KEY-----\r\n" + strings.Repeat(strings.Repeat("aB3d", 16)+"\r\n", 12)
	for name, in := range map[string]string{
		"token": strings.Repeat(".", 69) + " " + secret + " end\r\n\n\n\n", // its second row is the first one shown
		"key":   key + "aB3d==",
	} {
		term := vt.New(vt.Config{Cols: 80, Rows: 5, Scrollback: 100})
		term.Write([]byte(in))
		g := render.FromTerminal(term, themeOf(t))
		g.Redact(term, r)
		if got := shown(g); strings.Contains(got, "aB3d") || !strings.Contains(got, "█") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func themeOf(t *testing.T) *render.Theme {
	t.Helper()
	th, err := render.FindTheme("")
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func shown(g *render.Grid) string {
	var b strings.Builder
	for i := range g.Cells {
		if c := &g.Cells[i]; c.Rune != 0 {
			b.WriteString(c.Text())
		} else if c.Width > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func TestSVGKeepsTextLinksAndNothingElse(t *testing.T) {
	term := vt.New(vt.Config{Cols: 40, Rows: 3})
	term.Write([]byte("\x1b]8;;https://example.com/?a=1&b=2\x1b\\here\x1b]8;;\x1b\\ <b> & \"q\" 漢字\r\n" +
		"\x1b]8;;javascript:alert(1)\x1b\\bad\x1b]8;;\x1b\\ ─│╭ \x1b[4:3mwave\x1b[m"))
	pic, err := renderer(t, render.Options{Frame: true, Cursor: render.CursorAsSet}, "").SVG(render.FromTerminal(term, themeOf(t)))
	if err != nil {
		t.Fatal(err)
	}
	s := string(pic.Data)
	for _, want := range []string{
		`<a href="https://example.com/?a=1&amp;b=2"><text`, ">here</text></a>", "&lt;b&gt; &amp; &quot;q&quot;", ">漢字</text>", `textLength="36"`, "<path d=",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	for _, no := range []string{"javascript", "<script", "─"} {
		if strings.Contains(s, no) {
			t.Errorf("%q is in it", no)
		}
	}
}
