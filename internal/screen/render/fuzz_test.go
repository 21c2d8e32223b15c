package render_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"testing"

	"den/internal/screen"
	"den/internal/screen/render"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
	"den/internal/testkit/need"
)

// Whatever a program writes, its screen can be drawn: PNGs decode, SVGs are
// XML, and frames that follow each other end in the picture of the last.
func FuzzDraw(f *testing.F) {
	for _, name := range []string{"symbols", "box", "card", "cjk-emoji", "colors", "git-graph"} {
		raw, err := os.ReadFile("testdata/" + name + ".bin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, uint8(80), uint8(24), uint8(0))
		f.Add(raw, uint8(13), uint8(5), uint8(7))
	}
	hide, err := redact.New([]string{"[a-f]+"}, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte, cols, rows, kind uint8) {
		o := render.Options{EmbeddedOnly: true, Frame: kind&1 != 0}
		if kind&2 != 0 {
			o.Cursor = render.CursorAsSet
		}
		if kind&4 != 0 {
			o.Cursor, o.Scale = render.CursorHollow, 0.7
		}
		r, err := render.New(o)
		if err != nil {
			t.Fatal(err)
		}
		w, h := int(cols%100)+1, int(rows%30)+1
		term := vt.New(vt.Config{Cols: w, Rows: h})
		reel, err := r.NewReel(w, h)
		if err != nil {
			t.Fatal(err)
		}
		anim, err := r.NewAnimation(w, h)
		if err != nil {
			t.Fatal(err)
		}
		g := &render.Grid{}
		for part := range 3 {
			term.Write(in[len(in)*part/3 : len(in)*(part+1)/3])
			g.Take(term, r.Theme())
			if kind&8 != 0 {
				g.Redact(term, hide)
			}
			reel.Next(g)
			anim.Next(g)
		}
		pic, err := r.PNG(g)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(pic.Data))
		if err != nil {
			t.Fatal(err)
		}
		if !o.Frame {
			last := reel.AppendBGRA(nil)
			rw, _ := reel.Size()
			for y := range pic.Height {
				for x := range pic.Width {
					r, g, b, _ := img.At(x, y).RGBA()
					p := last[4*(y*rw+x):]
					if uint8(r>>8) != p[2] || uint8(g>>8) != p[1] || uint8(b>>8) != p[0] {
						t.Fatalf("frame by frame, the pixel at %d,%d is %v, at once %v", x, y, p[:4], img.At(x, y))
					}
				}
			}
		}
		svg, err := r.SVG(g)
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg.Data)
		shot := screen.Capture(term, 0)
		render.FromSnapshot(&shot, r.Theme())
	})
}

func wellFormed(t *testing.T, data []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the SVG is no XML: %v\n%s", err, data)
		}
	}
}

func TestEmojiHaveColoursWhereTheMachineHasThem(t *testing.T) {
	pic := drawn(t, "🚀 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ ok", render.Options{})
	if _, err := os.Stat("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"); err != nil {
		need.Missing(t, "no font of coloured emoji: %v", err)
	}
	if n := colorsOf(t, pic); n < 200 {
		t.Errorf("%d colours: that is no rocket", n)
	}
}

func TestPicturesHaveASize(t *testing.T) {
	if _, err := render.New(render.Options{Scale: 100}); err == nil {
		t.Error("a hundredfold size is taken")
	}
	r, err := render.New(render.Options{Scale: render.MaxScale})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.PNG(render.FromTerminal(vt.New(vt.Config{Cols: vt.MaxCols, Rows: vt.MaxRows}), r.Theme())); err == nil {
		t.Error("a picture of 20 gigapixels is drawn")
	}
}
