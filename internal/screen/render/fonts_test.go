package render_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/screen/render"
	"den/internal/screen/vt"
)

// drawn is the picture of a text on a screen of its own.
func drawn(t *testing.T, text string, o render.Options) *render.Picture {
	t.Helper()
	lines := strings.Split(text, "\n")
	term := vt.New(vt.Config{Cols: 120, Rows: max(len(lines), 1)})
	term.Write([]byte("\x1b[?2027h" + strings.Join(lines, "\r\n")))
	r, err := render.New(o)
	if err != nil {
		t.Fatal(err)
	}
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	return pic
}

// colorsOf counts the colours of a picture.
func colorsOf(t *testing.T, pic *render.Picture) int {
	t.Helper()
	img := decode(t, pic.Data)
	seen := map[[3]uint32]bool{}
	for y := range pic.Height {
		for x := range pic.Width {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}

// The screens of coding agents that the conversations' tests have: every
// character on them has a glyph, on any machine.
func TestCodingAgentsScreensAreWhole(t *testing.T) {
	files, err := filepath.Glob("../../agent/conversation/screen/testdata/screens/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d screens, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if pic := drawn(t, string(text), render.Options{EmbeddedOnly: true}); len(pic.Missing) > 0 {
			t.Errorf("%s: %v are not drawn", filepath.Base(f), pic.Missing)
		}
	}
}

func TestEmbeddedFontsHaveWhatProgramsUse(t *testing.T) {
	for name, text := range map[string]string{
		"agents":    "⎿ ⏵⏵ ☰ ⏺ ⏸ ✻ ✽ ✶ ✢ ∴ ◐ ▣ ⬝ ■ ❯ ⎇ ℹ △ ⇆ ✦ ⊶ ⟳ ⏎ ⏹ ⏱",
		"letters":   "ℵ 𝔸 ℝ 𝒜 𝔤 אבגדה ابتثج żŁđ ßẞ ǆ ӿ ⱥ ა",
		"nerd":      "\ue0a0 \ue5ff \ue702 \uea60 \uf015 \uf07b \uf121 \uf418 \U000f0001 \U000f024b \U000f0a1e \ue0c0 \ue0d4",
		"legacy":    "🬀🬞🬼🭈🭯🭰🭼🮀🮂🮌🮐🮕🮘🮚🮜🮠🮮🮯🮰🮲🯄🯰🯹",
		"signs":     "①⑳ⓐ⓪➀❶ ⬢⬡⬤ ⚪⚫ ☎ ☘ ♔♟ ⚀⚅ ♻ ⌛ ⏏ ␀␛ ⟨⟩ ⊕⋯ ⤴ ⧉ ⨯ 🞄 🡒",
		"marks":     "é ǖ q̃ x̂̃ a̷ o̲ ṩ n̈́ e\u0301\u0302\u0303",
		"emoji":     "🚀 ✅ ❌ 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ ⚠️ 1️⃣ 🤖 ✨ 🔧 📝 ⏳",
		"spaces":    "a\u00a0b\u2003c\u200bd\u202fe\u2060f\u3000g\ufeffh",
		"scripts":   "漢字 かな カナ 한국어 Ελληνικά Кириллица հայ",
		"selectors": "✔︎ ☎︎ ❤︎",
	} {
		if pic := drawn(t, text, render.Options{EmbeddedOnly: true}); len(pic.Missing) > 0 {
			t.Errorf("%s: %v are not drawn", name, pic.Missing)
		}
	}
}

// Signs whose writer did not ask for an emoji are text, in the text's colour,
// even where the machine has a font of coloured emoji.
func TestSignsAreTextUnlessEmojiAreAskedFor(t *testing.T) {
	for _, sign := range "⏺⏸⏹⏵⏱☎✔☑▶◀⚙⚠ℹ❤☀☁✈✉✏✒↔↩⌨⏏☺♠♥♻" {
		if n := colorsOf(t, drawn(t, string(sign), render.Options{})); n > 16 {
			t.Errorf("%c (%U) has %d colours", sign, sign, n)
		}
	}
}

// Each rune that is not drawn is named: of a character with a mark that no
// font has, the mark.
func TestEveryMissingRuneIsNamed(t *testing.T) {
	pic := drawn(t, "ok \U000fabcd e\u1abe\u0301 \u1abe", render.Options{EmbeddedOnly: true})
	if want := []string{"U+1ABE", "U+FABCD"}; !slices.Equal(pic.Missing, want) {
		t.Errorf("missing %q, want %q", pic.Missing, want)
	}
	r := renderer(t, render.Options{Frame: true}, "")
	term := vt.New(vt.Config{Cols: 20, Rows: 2})
	term.Write([]byte("\x1b]2;a\U000fabcdb\x07"))
	for name, draw := range map[string]func(*render.Grid) (*render.Picture, error){"png": r.PNG, "svg": r.SVG} {
		pic, err := draw(render.FromTerminal(term, r.Theme()))
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"U+FABCD"}; !slices.Equal(pic.Missing, want) {
			t.Errorf("%s: missing %q in the title, want %q", name, pic.Missing, want)
		}
	}
}
