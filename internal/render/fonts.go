package render

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-text/typesetting/font"
)

// The fonts, made by scripts/fonts. They are pages of the binary that nobody
// reads until a character needs them.
var (
	//go:embed fonts/JetBrainsMono-Regular.ttf
	jetBrainsRegular string
	//go:embed fonts/JetBrainsMono-Bold.ttf
	jetBrainsBold string
	//go:embed fonts/JetBrainsMono-Italic.ttf
	jetBrainsItalic string
	//go:embed fonts/JetBrainsMono-BoldItalic.ttf
	jetBrainsBoldItalic string
	//go:embed fonts/DejaVuSansMono.ttf
	dejaVu string
	//go:embed fonts/NotoSansCJK-subset.otf
	notoCJK string
)

// weight is a style of letters.
type weight uint8

const (
	bold   weight = 1
	italic weight = 2
)

// parsed fonts are shared by all renderers: they are never written to.
var (
	mainFonts = [4]func() *font.Font{
		embedded(&jetBrainsRegular), embedded(&jetBrainsBold), embedded(&jetBrainsItalic), embedded(&jetBrainsBoldItalic),
	}
	dejaVuFont = embedded(&dejaVu)
	cjkFont    = embedded(&notoCJK)
)

func embedded(data *string) func() *font.Font {
	return sync.OnceValue(func() *font.Font {
		face, err := font.ParseTTF(strings.NewReader(*data))
		if err != nil {
			panic(fmt.Sprintf("render: an embedded font is broken: %v", err))
		}
		return face.Font
	})
}

// emojiFont is the machine's colour emoji font, or nil.
var emojiFont = sync.OnceValue(func() *font.Font {
	for _, dir := range []string{
		"/usr/share/fonts/truetype/noto", "/usr/share/fonts/noto", "/usr/share/fonts/google-noto-emoji",
		"/usr/share/fonts/google-noto-color-emoji-fonts", "/usr/share/fonts/noto-emoji", "/usr/local/share/fonts",
		filepath.Join(os.Getenv("HOME"), ".local/share/fonts"), filepath.Join(os.Getenv("HOME"), ".fonts"),
	} {
		f, err := os.Open(filepath.Join(dir, "NotoColorEmoji.ttf"))
		if err != nil {
			continue // Best effort: a picture without colours says so.
		}
		face, err := font.ParseTTF(f)
		f.Close() // only read
		if err == nil {
			return face.Font
		}
	}
	return nil
})

// face is a font in the hands of one renderer.
type face struct {
	*font.Face
	own bool // the main font: its letters stand as they are, in all weights
}

// chain is the fonts in the order in which a character is looked for.
type chain struct {
	main  [4]*face
	more  [2]*face
	emoji *face

	emojiLooked bool
	noEmoji     bool // leave the machine's fonts alone
}

func (c *chain) mainFace(w weight) *face {
	if c.main[w] == nil {
		c.main[w] = &face{Face: font.NewFace(mainFonts[w]()), own: true}
	}
	return c.main[w]
}

func (c *chain) fallback(i int) *face {
	if c.more[i] == nil {
		c.more[i] = &face{Face: font.NewFace([]func() *font.Font{dejaVuFont, cjkFont}[i]())}
	}
	return c.more[i]
}

func (c *chain) emojiFace() *face {
	if !c.emojiLooked && !c.noEmoji {
		c.emojiLooked = true
		if f := emojiFont(); f != nil {
			c.emoji = &face{Face: font.NewFace(f)}
		}
	}
	return c.emoji
}

// find returns the first font that has the rune, or nil.
func (c *chain) find(r rune, w weight) (*face, font.GID) {
	if g, ok := c.mainFace(w).NominalGlyph(r); ok {
		return c.mainFace(w), g
	}
	order := [2]int{0, 1}
	if wideScript(r) {
		order = [2]int{1, 0}
	}
	for _, i := range order {
		f := c.fallback(i)
		if g, ok := f.NominalGlyph(r); ok {
			return f, g
		}
	}
	return nil, 0
}

// wideScript reports that the CJK font is the likely one: the other need not
// be read.
func wideScript(r rune) bool { return r >= 0x2e80 && r <= 0xffef && (r < 0xd800 || r >= 0xf900) }
