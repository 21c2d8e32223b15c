package render_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/render"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// What programs print to show testdata/wheel.png, recorded in a terminal of 80 by
// 24 cells of 9 by 20 pixels.
func printed(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".bin"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sixelScreen shows an image of each program, one with text over it, and one that
// the edge cuts.
func sixelScreen(t testing.TB) *vt.Terminal {
	term := vt.New(vt.Config{Cols: 60, Rows: 18})
	six, chafa := printed(t, "img2sixel"), printed(t, "chafa-sixel")
	term.Write([]byte("\x1b[32m$\x1b[m img2sixel wheel.png\r\n" + six + "\x1b[2;30H" + six + "\x1b[4;32H\x1b[7m over the image \x1b[m" +
		"\x1b[9;1H\x1b[32m$\x1b[m chafa -f sixel wheel.png\r\n\x1b[45m\x1b[K\x1b[m" + chafa + "\x1b[10;55H" + chafa + "\x1b[17;1H\x1b[32m$\x1b[m "))
	return term
}

func TestPictureOfSixels(t *testing.T) {
	r := renderer(t, render.Options{Cursor: render.CursorBlock}, "")
	term := sixelScreen(t)
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	isGolden(t, pic, filepath.Join("testdata", "sixel.png"))
	snapshot := screen.Capture(term, 0)
	again, err := r.PNG(render.FromSnapshot(&snapshot, r.Theme()))
	if err != nil || !bytes.Equal(again.Data, pic.Data) {
		t.Errorf("a snapshot is drawn in another way: %v", err)
	}
}

func TestPictureOfSixelsTwiceAsLarge(t *testing.T) {
	r := renderer(t, render.Options{Scale: 2}, "light")
	term := vt.New(vt.Config{Cols: 22, Rows: 7})
	term.Write([]byte(printed(t, "img2sixel")))
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	isGolden(t, pic, filepath.Join("testdata", "sixel-2x.png"))
}

// At scale 1 a pixel of an image is a pixel of the picture.
func TestImagesAreDrawnPixelByPixel(t *testing.T) {
	raw, err := os.ReadFile("testdata/wheel.png")
	if err != nil {
		t.Fatal(err)
	}
	r := renderer(t, render.Options{}, "")
	term := vt.New(vt.Config{Cols: 22, Rows: 7})
	term.Write([]byte(printed(t, "img2sixel")))
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	want, got := decode(t, raw), decode(t, pic.Data)
	for _, at := range []image.Point{{X: 80, Y: 60}, {X: 40, Y: 60}, {X: 120, Y: 80}, {X: 80, Y: 20}, {X: 15, Y: 100}} {
		a, b := want.At(at.X, at.Y), got.At(at.X+8, at.Y+8) // the margin
		ar, ag, ab, _ := a.RGBA()
		br, bg, bb, _ := b.RGBA()
		for _, d := range []int{int(ar) - int(br), int(ag) - int(bg), int(ab) - int(bb)} {
			if d > 0x1800 || d < -0x1800 { // sixel has 256 colours
				t.Errorf("pixel %v is %v, want %v", at, b, a)
				break
			}
		}
	}
}

func TestSVGOfImages(t *testing.T) {
	r := renderer(t, render.Options{}, "")
	pic, err := r.SVG(render.FromTerminal(sixelScreen(t), r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	svg := string(pic.Data)
	if n := strings.Count(svg, "data:image/png;base64,"); n != 4 {
		t.Errorf("%d pictures are in it, want 4", n)
	}
	// One is whole, one is cut in two around the text over it, and one by the edge.
	if n := strings.Count(svg, "<use href="); n < 4 || n > 12 {
		t.Errorf("they are drawn in %d pieces", n)
	}
}

// A film paints only what changed of an image, too.
func TestReelOfImages(t *testing.T) {
	r := renderer(t, render.Options{}, "")
	reel, err := r.NewReel(60, 18)
	if err != nil {
		t.Fatal(err)
	}
	term := vt.New(vt.Config{Cols: 60, Rows: 18})
	for _, out := range []string{"text", printed(t, "img2sixel"), "\x1b[2;5Hover", "\x1b[1;20H" + printed(t, "chafa-sixel"), "\x1b[2J"} {
		term.Write([]byte(out))
		reel.Next(render.FromTerminal(term, r.Theme()))
		fresh, err := r.NewReel(60, 18)
		if err != nil {
			t.Fatal(err)
		}
		fresh.Next(render.FromTerminal(term, r.Theme()))
		if !bytes.Equal(reel.AppendBGRA(nil), fresh.AppendBGRA(nil)) {
			t.Errorf("after %.20q the frame differs from one that is painted anew", out)
		}
	}
}

func TestRedactedCellsShowNoImage(t *testing.T) {
	term := vt.New(vt.Config{Cols: 60, Rows: 10})
	term.Write([]byte("key" + printed(t, "img2sixel") + "\x1b[1;40Hend"))
	r := renderer(t, render.Options{}, "")
	g := render.FromTerminal(term, r.Theme())
	hide, err := redact.New([]string{"key +end"}, false)
	if err != nil {
		t.Fatal(err)
	}
	g.Redact(term, hide)
	if g.Row(1)[4].Image == nil {
		t.Fatal("there is no image")
	}
	for x := range 42 {
		if c := &g.Row(0)[x]; c.Rune != '█' || c.Image != nil {
			t.Errorf("column %d shows %+v", x, c)
		}
	}
}

// A picture that is no PNG, or says it is larger than it is, is not drawn.
func TestBrokenImagesAreNotDrawn(t *testing.T) {
	term := vt.New(vt.Config{Cols: 10, Rows: 4})
	snapshot := screen.Capture(term, 0)
	r := renderer(t, render.Options{}, "")
	plain, err := r.PNG(render.FromSnapshot(&snapshot, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	wheel, err := os.ReadFile("testdata/wheel.png")
	if err != nil {
		t.Fatal(err)
	}
	for name, img := range map[string]screen.Image{
		"no PNG":     {PNG: []byte("no"), Width: 9, Height: 20, Source: [4]int{0, 0, 9, 20}, Box: [4]int{0, 0, 9, 20}},
		"cut":        {PNG: wheel[:200], Width: 160, Height: 120, Source: [4]int{0, 0, 160, 120}, Box: [4]int{0, 0, 9, 20}},
		"other size": {PNG: wheel, Width: 9, Height: 20, Source: [4]int{0, 0, 9, 20}, Box: [4]int{0, 0, 9, 20}},
		"outside":    {PNG: wheel, Width: 160, Height: 120, Source: [4]int{150, 0, 20, 20}, Box: [4]int{0, 0, 9, 20}},
		"empty box":  {PNG: wheel, Width: 160, Height: 120, Source: [4]int{0, 0, 20, 20}},
	} {
		img.ID, img.Cols, img.Rows = "x", 1, 1
		broken := snapshot
		broken.Images = []screen.Image{img}
		broken.Lines = append([]screen.Line{}, snapshot.Lines...)
		broken.Lines[0].Images = []screen.Tile{{Image: "x", Col: 0, Width: 1}}
		for _, draw := range []func(*render.Grid) (*render.Picture, error){r.PNG, r.SVG} {
			pic, err := draw(render.FromSnapshot(&broken, r.Theme()))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if bytes.HasPrefix(pic.Data, []byte("\x89PNG")) {
				samePixels(t, pic.Data, plain.Data)
			} else if bytes.Contains(pic.Data, []byte("<use")) {
				t.Errorf("%s: the SVG shows it", name)
			}
		}
	}
}

// kittyScreen shows what chafa prints, a PNG by its id in other sizes, and one by
// placeholders.
func kittyScreen(t testing.TB) *vt.Terminal {
	t.Helper()
	wheel, err := os.ReadFile("testdata/wheel.png")
	if err != nil {
		t.Fatal(err)
	}
	term := vt.New(vt.Config{Cols: 60, Rows: 14})
	term.Write([]byte("\x1b[32m$\x1b[m chafa -f kitty wheel.png\r\n" + printed(t, "chafa-kitty") +
		"\x1b_Ga=t,f=100,i=7,q=2;" + base64.StdEncoding.EncodeToString(wheel) + "\x1b\\" +
		"\x1b[2;16H\x1b_Ga=p,i=7,C=1,q=2\x1b\\\x1b[2;36H\x1b[44m\x1b[20X\x1b[m\x1b_Ga=p,i=7,c=20,r=3,C=1,q=2\x1b\\" +
		"\x1b[6;36H\x1b_Ga=p,i=7,x=80,y=0,w=80,h=60,X=4,Y=10,C=1,q=2\x1b\\" +
		"\x1b_Ga=p,U=1,i=7,c=8,r=3,q=2\x1b\\\x1b[38;5;7m"))
	for row, mark := range []string{"\u0305", "\u030d", "\u030e"} {
		term.Write(fmt.Appendf(nil, "\x1b[%d;1H\U0010eeee%s%s", 10+row, mark, strings.Repeat("\U0010eeee", 7)))
	}
	term.Write([]byte("\x1b[m text beside it\x1b[14;1H\x1b[32m$\x1b[m "))
	return term
}

func TestPictureOfKittyImages(t *testing.T) {
	r := renderer(t, render.Options{Cursor: render.CursorBlock}, "")
	term := kittyScreen(t)
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	isGolden(t, pic, filepath.Join("testdata", "kitty.png"))
	if len(pic.Missing) > 0 {
		t.Errorf("missing %q", pic.Missing)
	}
	snapshot := screen.Capture(term, 0)
	again, err := r.PNG(render.FromSnapshot(&snapshot, r.Theme()))
	if err != nil || !bytes.Equal(again.Data, pic.Data) {
		t.Errorf("a snapshot is drawn in another way: %v", err)
	}
}
