package render

import (
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"den/internal/base/lazy"

	"github.com/go-text/typesetting/font"
)

// The fonts, made by scripts/fonts. They are pages of the binary that nobody
// reads until a character needs them; the rarer ones are compressed.
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
	dejaVuMono string
	//go:embed fonts/NotoSansCJK-subset.otf
	notoCJK string
	//go:embed fonts/NotoSansSymbols2.ttf.gz
	notoSymbols2 string
	//go:embed fonts/NotoSansSymbols.ttf.gz
	notoSymbols string
	//go:embed fonts/DejaVuSans.ttf.gz
	dejaVuSans string
	//go:embed fonts/NotoSansMath.ttf.gz
	notoMath string
	//go:embed fonts/NotoSansHebrew.ttf.gz
	notoHebrew string
	//go:embed fonts/NotoEmoji.ttf.gz
	notoEmoji string
	//go:embed fonts/NerdFontSymbols.ttf.gz
	nerdSymbols string
)

// weight is a style of letters.
type weight uint8

const (
	bold   weight = 1
	italic weight = 2
)

var mainFonts = [4]embedded{{data: &jetBrainsRegular}, {data: &jetBrainsBold}, {data: &jetBrainsItalic}, {data: &jetBrainsBoldItalic}}

// fallback is a font for what the main one lacks.
type fallback struct {
	embedded
	// holds is where its characters are: it is not read for others.
	holds []runeRange
}

type runeRange struct{ first, last rune }

func (f *fallback) mayHave(r rune) bool {
	for _, h := range f.holds {
		if r >= h.first && r <= h.last {
			return true
		}
	}
	return false
}

// The fallback fonts, in the order in which they are asked. The ranges are
// those of scripts/fonts.
var fallbacks = [...]fallback{
	{embedded{data: &dejaVuMono}, []runeRange{{0x80, 0x2e7f}, {0xa640, 0xa7ff}, {0xe000, 0xf8ff}, {0xfb00, 0xfdff}, {0xfe70, 0xfeff}, {0xfff9, 0xfffd}, {0x1d400, 0x1d7ff}, {0x1f000, 0x1fbff}}},
	cjkFont: {embedded{data: &notoCJK}, []runeRange{{0x2e80, 0xd7ff}, {0xf900, 0xffff}}},
	{embedded{data: &notoSymbols2}, []runeRange{{0x2190, 0x2bff}, {0x1f000, 0x1f0ff}, {0x1f300, 0x1fbff}}},
	{embedded{data: &notoSymbols}, []runeRange{{0x20d0, 0x2bff}, {0x1f100, 0x1f1e5}, {0x1f200, 0x1f77f}}},
	{embedded{data: &dejaVuSans}, []runeRange{{0x180, 0x6ff}, {0x10a0, 0x10ff}, {0x1d00, 0x2bff}, {0x2c60, 0x2e7f}, {0xa640, 0xa7ff}, {0xfb00, 0xfdff}}},
	{embedded{data: &notoMath}, []runeRange{{0x20d0, 0x2bff}, {0x1d400, 0x1d7ff}, {0x1ee00, 0x1eeff}}},
	{embedded{data: &notoHebrew}, []runeRange{{0x590, 0x5ff}}},
	plainEmoji: {embedded{data: &notoEmoji}, []runeRange{{0xa9, 0xae}, {0x2000, 0x3299}, {0x1f000, 0x1faff}}},
	{embedded{data: &nerdSymbols}, []runeRange{{0x23fb, 0x23fe}, {0x2b58, 0x2b58}, {0xe000, 0xf8ff}, {0xf0000, 0xf1aff}}},
}

// Fonts that are also asked out of turn.
const (
	cjkFont    = 1
	plainEmoji = 7
)

// gzipMark begins what is compressed.
const gzipMark = "\x1f\x8b"

// embedded is a font of the binary. Parsed it is shared by all renderers: it is
// never written to.
type embedded struct {
	data   *string
	once   sync.Once
	parsed *font.Font
}

func (e *embedded) font() *font.Font {
	e.once.Do(func() {
		face, err := parseEmbedded(*e.data)
		if err != nil {
			panic(fmt.Sprintf("render: an embedded font is broken: %v", err))
		}
		e.parsed = face.Font
	})
	return e.parsed
}

func parseEmbedded(data string) (*font.Face, error) {
	if strings.HasPrefix(data, gzipMark) {
		z, err := gzip.NewReader(strings.NewReader(data))
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(z)
		if err != nil {
			return nil, err
		}
		data = string(raw)
	}
	return font.ParseTTF(strings.NewReader(data))
}

// emojiFont is the machine's colour emoji font, or nil.
var emojiFont = lazy.Value[*font.Font]{Make: func() *font.Font {
	for _, dir := range []string{
		"/usr/share/fonts/truetype/noto", "/usr/share/fonts/noto", "/usr/share/fonts/google-noto-emoji",
		"/usr/share/fonts/google-noto-color-emoji-fonts", "/usr/share/fonts/noto-emoji", "/usr/local/share/fonts",
		filepath.Join(os.Getenv("HOME"), ".local/share/fonts"), filepath.Join(os.Getenv("HOME"), ".fonts"),
	} {
		f, err := os.Open(filepath.Join(dir, "NotoColorEmoji.ttf"))
		if err != nil {
			continue // Best effort: without it emoji have no colours.
		}
		face, err := font.ParseTTF(f)
		f.Close() // only read
		if err == nil {
			return face.Font
		}
	}
	return nil
}}

// face is a font in the hands of one renderer.
type face struct {
	*font.Face
	own bool // the main font: its letters stand as they are, in all weights
}

// chain is the fonts in the order in which a character is looked for.
type chain struct {
	main    [4]*face
	more    [len(fallbacks)]*face
	machine map[*font.Font]*face
	emoji   *face

	emojiLooked  bool
	embeddedOnly bool // leave the machine's fonts alone
}

func (c *chain) mainFace(w weight) *face {
	if c.main[w] == nil {
		c.main[w] = &face{Face: font.NewFace(mainFonts[w].font()), own: true}
	}
	return c.main[w]
}

func (c *chain) fallback(i int) *face {
	if c.more[i] == nil {
		c.more[i] = &face{Face: font.NewFace(fallbacks[i].font())}
	}
	return c.more[i]
}

func (c *chain) emojiFace() *face {
	if !c.emojiLooked && !c.embeddedOnly {
		c.emojiLooked = true
		if f := emojiFont.Get(); f != nil {
			c.emoji = &face{Face: font.NewFace(f)}
		}
	}
	return c.emoji
}

// find returns the first font that has the rune, or nil.
func (c *chain) find(r rune, w weight) *face {
	return c.findAll([]rune{r}, w)
}

// findAll returns the first font that has all the runes, or nil.
func (c *chain) findAll(text []rune, w weight) *face {
	has := func(f *face) bool {
		for _, r := range text {
			if _, ok := f.NominalGlyph(r); !ok {
				return false
			}
		}
		return true
	}
	if f := c.mainFace(w); has(f) {
		return f
	}
	for i := range fallbacks {
		if fallbacks[i].mayHave(text[0]) && has(c.fallback(i)) {
			return c.fallback(i)
		}
	}
	if c.embeddedOnly {
		return nil
	}
	return c.onMachine(text)
}

// onMachine returns a font of the machine that has all the runes, or nil.
func (c *chain) onMachine(text []rune) *face {
	f := machineFonts.Get().find(text)
	if f == nil {
		return nil
	}
	if c.machine == nil {
		c.machine = map[*font.Font]*face{}
	}
	if c.machine[f] == nil {
		c.machine[f] = &face{Face: font.NewFace(f)}
	}
	return c.machine[f]
}

// wideScript reports that a character is of a script of square characters.
func wideScript(r rune) bool { return r >= 0x2e80 && r <= 0xffef && (r < 0xd800 || r >= 0xf900) }
