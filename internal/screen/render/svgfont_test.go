package render_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/go-text/typesetting/font"

	"den/internal/screen/render"
)

var fontFace = regexp.MustCompile(`font-weight:(\d+);font-style:(\w+);src:url\(data:font/ttf;base64,([^)]*)\)`)

// An SVG has a font of its own for every letter on it: each character of its
// text has an outline there, as wide as its cells.
func TestSVGBringsItsFontsAlong(t *testing.T) {
	for _, g := range goldens {
		r := renderer(t, g.options, g.theme)
		pic, err := r.SVG(render.FromTerminal(played(t, g.file), r.Theme()))
		if err != nil {
			t.Fatal(err)
		}
		faces := map[string]*font.Face{}
		for _, m := range fontFace.FindAllSubmatch(pic.Data, -1) {
			raw, err := base64.StdEncoding.DecodeString(string(m[3]))
			if err != nil {
				t.Fatal(err)
			}
			face, err := font.ParseTTF(bytes.NewReader(raw))
			if err != nil {
				t.Fatalf("%s: the font is broken: %v", g.name, err)
			}
			faces[string(m[1])+string(m[2])] = face
		}
		for _, m := range svgText.FindAllStringSubmatch(string(pic.Data), -1) {
			if strings.Contains(m[1], "fill-opacity") {
				continue // over a drawing, to be selected
			}
			kind := "400normal"
			switch {
			case strings.Contains(m[1], "bold") && strings.Contains(m[1], "italic"):
				kind = "700italic"
			case strings.Contains(m[1], "bold"):
				kind = "700normal"
			case strings.Contains(m[1], "italic"):
				kind = "400italic"
			}
			for _, ch := range unescape.Replace(m[2]) {
				face := faces[kind]
				if face == nil {
					t.Fatalf("%s: no font of weight %s", g.name, kind)
				}
				glyph, ok := face.NominalGlyph(ch)
				if !ok {
					t.Errorf("%s: %c (%U) is not in the font", g.name, ch, ch)
					continue
				}
				// A letter is about 0.6 of its size wide, a wide character twice that;
				// cells are whole pixels.
				if wide := face.HorizontalAdvance(glyph) / float32(face.Upem()); wide < 0.58 || wide > 0.63 && wide < 1.16 || wide > 1.26 {
					t.Errorf("%s: %c (%U) is %v wide", g.name, ch, ch, wide)
				}
			}
		}
	}
}

var (
	svgText  = regexp.MustCompile(`<text([^>]*)>([^<]*)</text>`)
	unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")
)
