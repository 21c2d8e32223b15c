package redact_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// unseen are characters that stand between others without being seen.
var unseen = []rune("\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u061c\u115f\u17b4\u180e\u200e\u202a\u202e\u2066\u2069\u3164\uffa0\ufe0f\ufe00\u0301\u0336\u20dd\U000e0001\U000e0041\U000e0100\x00\x01\x08\x1b\x7f\u0085")

// between puts characters that nobody sees into a text.
func between(r *rand.Rand, s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(c)
		for range r.IntN(3) {
			b.WriteRune(unseen[r.IntN(len(unseen))])
		}
	}
	return b.String()
}

// seen is what is left of a text without them, by another rule than the
// product's: the printable part of ASCII.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < unicode.MaxASCII {
			return r
		}
		return -1
	}, s)
}

func shows(t *testing.T, what, out, token string) {
	t.Helper()
	out = seen(out)
	for i := 0; i+8 <= len(token); i++ {
		if strings.Contains(out, token[i:i+8]) {
			t.Errorf("%s: eight characters of %q are in %q", what, token, out)
			return
		}
	}
}

// No eight characters of a token are shown, whatever stands unseen between its
// letters: in a text, in lines, and on a screen.
func TestUnseenCharactersHideNoToken(t *testing.T) {
	r := redactor(t, true)
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		for name, token := range tokens {
			text := "before: " + between(random, token) + " after"
			shows(t, name+", text", r.Text(text), token)

			var out strings.Builder
			lines := redact.NewLines(r, func(text []byte) error { out.Write(text); return nil })
			if err := lines.Add([]byte(text + "\n")); err != nil {
				t.Fatal(err)
			}
			if err := lines.Close(); err != nil {
				t.Fatal(err)
			}
			shows(t, name+", lines", out.String(), token)

			// A piece of it, elsewhere, when it is known.
			secrets := redact.NewSecrets()
			r.Collect([]byte(text), secrets)
			shows(t, name+", known", r.Knowing(secrets).Text(between(random, token[len(token)-12:])), token)

			if seed%20 == 0 {
				shows(t, name+", screen", screenOf(r, strings.NewReplacer("\x1b", "", "\x08", "").Replace(text)), token)
			}
		}
		if t.Failed() {
			return
		}
	}
	if got := r.Text("caf\u00e9 e\u0301 \u200b za\u0301z\u200bz"); got != "caf\u00e9 e\u0301 \u200b za\u0301z\u200bz" {
		t.Errorf("a text without secrets became %q", got)
	}
	if got := redactor(t, false, "\u200b+").Text("a\u200b\u200bb"); got != "a**b" {
		t.Errorf("an expression for what nobody sees: %q", got)
	}
}

// screenOf is a screen with the text, without what is hidden.
func screenOf(r *redact.Redactor, text string) string {
	term := vt.New(vt.Config{Cols: 60, Rows: 6})
	term.Write([]byte(text))
	var page redact.Page
	page.Take(term, 0)
	page.Hide(r)
	var out []byte
	for y := range 6 {
		row, hidden := term.Row(y), page.Hidden(y)
		for x := range row.Len() {
			if hidden == nil || !hidden[x] {
				out = row.AppendCell(out, x)
			}
		}
	}
	return string(out)
}
