package render

import (
	"bytes"
	"image"
	"image/png"
	"math"

	"github.com/go-text/typesetting/harfbuzz"
	"golang.org/x/image/draw"
)

// wantsEmoji reports that a character is meant as a small picture: its writer
// said so, or it is wide and of no script.
func wantsEmoji(text []rune, width int) bool {
	for _, r := range text[1:] {
		switch r {
		case 0xfe0f, 0x20e3:
			return true
		case 0xfe0e:
			return false
		}
	}
	return width == 2 && !wideScript(text[0]) && text[0] >= 0x203c
}

// drawEmoji draws with the machine's colour font, or returns nil.
func (g *glyphs) drawEmoji(text []rune, boxW int) *mask {
	f := g.fonts.emojiFace()
	if f == nil || text[0] < 0x20 {
		return nil
	}
	buf := harfbuzz.NewBuffer()
	buf.AddRunes(text, 0, len(text))
	buf.GuessSegmentProperties()
	buf.Shape(harfbuzz.NewFont(f.Face), nil)
	for _, info := range buf.Info {
		if info.Glyph == 0 {
			continue
		}
		bitmap, ok := f.GlyphDataBitmap(info.Glyph)
		if !ok {
			continue
		}
		src, err := png.Decode(bytes.NewReader(bitmap.Data))
		if err != nil {
			return nil // a font of another form: the box says that it is missing
		}
		return &mask{w: boxW, h: g.cellH, color: fitted(src, boxW, g.cellH)}
	}
	return nil
}

// fitted scales a picture into the middle of a box.
func fitted(src image.Image, w, h int) *image.RGBA {
	b := src.Bounds()
	scale := math.Min(float64(w)/float64(b.Dx()), float64(h)/float64(b.Dy()))
	dw, dh := int(float64(b.Dx())*scale), int(float64(b.Dy())*scale)
	at := image.Rect((w-dw)/2, (h-dh)/2, (w-dw)/2+dw, (h-dh)/2+dh)
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(dst, at, src, b, draw.Src, nil)
	return dst
}
