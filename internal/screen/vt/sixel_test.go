package vt_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// pixelsOf decodes the picture of an image.
func pixelsOf(t testing.TB, img *vt.Image) image.Image {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(img.PNG))
	if err != nil {
		t.Fatal(err)
	}
	if b := m.Bounds(); b.Dx() != img.Width || b.Dy() != img.Height {
		t.Fatalf("the picture is %v, the image says %dx%d", b, img.Width, img.Height)
	}
	return m
}

func rgba(c color.Color) [4]uint8 {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return [4]uint8{n.R, n.G, n.B, n.A}
}

// layout is the tiles of the screen: column, width, and what of the image.
func layout(term *vt.Terminal) []string {
	var out []string
	_, rows := term.Size()
	for y := range rows {
		for _, tile := range term.Row(y).Tiles() {
			out = append(out, fmt.Sprintf("%d: %d+%d is %d,%d", y, tile.Col, tile.Width, tile.X, tile.Y))
		}
	}
	return out
}

func isLayout(t *testing.T, term *vt.Terminal, want ...string) {
	t.Helper()
	if got := layout(term); !reflect.DeepEqual(got, want) {
		t.Errorf("tiles %q, want %q", got, want)
	}
	if err := term.Check(); err != nil {
		t.Error(err)
	}
}

// oneImage returns the image that the screen shows.
func oneImage(t testing.TB, term *vt.Terminal) *vt.Image {
	t.Helper()
	_, rows := term.Size()
	for y := range rows {
		if tiles := term.Row(y).Tiles(); len(tiles) > 0 {
			return tiles[0].Image
		}
	}
	t.Fatal("the screen shows no image")
	return nil
}

// square is a sixel image of 18 by 42 pixels: 2 columns, 3 rows.
const square = "\x1bP0;1q\"1;1;18;42#1;2;100;0;0#2;2;0;0;100" +
	"#1!18~-!18~-!18~-#2!18~-!18~-!18~-#1!9~$#2!9?!9~\x1b\\"

func TestSixelPixels(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	term.Write([]byte(square))
	img := oneImage(t, term)
	m := pixelsOf(t, img)
	red, blue := [4]uint8{255, 0, 0, 255}, [4]uint8{0, 0, 255, 255}
	for at, want := range map[image.Point][4]uint8{{X: 0, Y: 0}: red, {X: 17, Y: 17}: red, {X: 0, Y: 18}: blue, {X: 8, Y: 41}: red, {X: 9, Y: 41}: blue} {
		if got := rgba(m.At(at.X, at.Y)); got != want {
			t.Errorf("pixel %v is %v, want %v", at, got, want)
		}
	}
	if img.Cols != 2 || img.Rows != 3 || img.Box != (vt.Rect{W: 18, H: 42}) {
		t.Errorf("image %+v", *img)
	}
}

func TestSixelColorsAndTransparency(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	// Hues count from blue; register 3 has the colour that it has on a VT340.
	term.Write([]byte("\x1bP9;1;0q#1;1;0;50;100@#2;1;120;50;100@#4;1;240;50;100@?#3@\x1b\\"))
	m := pixelsOf(t, oneImage(t, term))
	for x, want := range [][4]uint8{{0, 0, 255, 255}, {255, 0, 0, 255}, {0, 255, 0, 255}, {}, {51, 204, 51, 255}} {
		if got := rgba(m.At(x, 0)); got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
}

func TestSixelWithoutRasterHasTallPixels(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	term.Write([]byte("\x1bPq!9~\x1b\\"))
	if img := oneImage(t, term); img.Height != 6 || img.Box.H != 12 {
		t.Errorf("image %+v", *img)
	}
}

func TestSixelPlaceAndCursor(t *testing.T) {
	for _, c := range []struct {
		name, out string
		row, col  int
		want      []string
	}{
		{"in place", "\x1b[2;4H" + square, 3, 3, []string{"1: 3+2 is 0,0", "2: 3+2 is 0,1", "3: 3+2 is 0,2"}},
		{"scrolls", "\x1b[6;1Htop\x1b[6;4H" + square, 5, 3, []string{"3: 3+2 is 0,0", "4: 3+2 is 0,1", "5: 3+2 is 0,2"}},
		{"cut at the edge", "\x1b[1;20H" + square, 2, 19, []string{"0: 19+1 is 0,0", "1: 19+1 is 0,1", "2: 19+1 is 0,2"}},
		{"to the right", "\x1b[?8452h" + square, 2, 2, []string{"0: 0+2 is 0,0", "1: 0+2 is 0,1", "2: 0+2 is 0,2"}},
		{"display mode", "\x1b[?80h\x1b[6;7H" + square, 5, 6, []string{"0: 0+2 is 0,0", "1: 0+2 is 0,1", "2: 0+2 is 0,2"}},
		{"text over it", square + "\x1b[2;1Hx", 1, 1, []string{"0: 0+2 is 0,0", "1: 1+1 is 1,1", "2: 0+2 is 0,2"}},
		{"erased in part", square + "\x1b[1;2H\x1b[K\x1b[3;1H\x1b[2K", 2, 0, []string{"0: 0+1 is 0,0", "1: 0+2 is 0,1"}},
		{"inserted before", square + "\x1b[1;1H\x1b[3@\x1b[2;1H\x1b[L", 1, 0, []string{"0: 3+2 is 0,0", "2: 0+2 is 0,1", "3: 0+2 is 0,2"}},
		{"cleared", square + "\x1b[2J", 2, 0, nil},
		{"on the other screen", square + "\x1b[?1049h", 2, 0, nil},
		{"cancelled", strings.TrimSuffix(square, "\x1b\\") + "\x18", 0, 0, nil},
		{"empty", "\x1bPq\x1b\\\x1bPq#1;2;1;1;1???\x1b\\", 0, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(20, 6, 10))
			term.Write([]byte(c.out))
			isLayout(t, term, c.want...)
			if cur := term.Cursor(); cur.Row != c.row || cur.Col != c.col {
				t.Errorf("cursor %d,%d, want %d,%d", cur.Row, cur.Col, c.row, c.col)
			}
			if d := dumpDiff(term, config(20, 6, 10)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestImagesAreBlanksInTexts(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	term.Write([]byte("before " + square + "\x1b[1;12Hafter"))
	if got := string(term.AppendText(nil)); got != "before     after" {
		t.Errorf("text %q", got)
	}
	if c := term.Row(0).Cell(7); c.Text != "" || c.Width != 1 {
		t.Errorf("cell %+v", c)
	}
	term.Write([]byte("\x1b[2;9H\u0301")) // a mark makes a letter of a blank
	if got := string(term.Row(1).AppendText(nil)); got != "        \u0301"[:7]+" \u0301" {
		t.Errorf("text %q", got)
	}
}

func TestImagesKeepTheirBackground(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	term.Write([]byte("\x1b[44m\x1b[2K\x1b[m" + square + "\x1b[42m\x1b[1;10H" + strings.Replace(square, "0;1q", "0;0q", 1)))
	row := term.Row(0)
	if a, b := row.Cell(0).Style.BG, row.Cell(9).Style.BG; a != vt.Indexed(4) || b != vt.Indexed(2) {
		t.Errorf("backgrounds %v and %v", a, b)
	}
}

// A resize wraps images as text, and puts them together again.
func TestImagesSurviveResizes(t *testing.T) {
	term := vt.New(config(20, 6, 100))
	term.Write([]byte(strings.Repeat("line\r\n", 40) + "\x1b[3;10H" + square + "\r\n"))
	want := layout(term)
	term.Resize(10, 6)
	term.Resize(20, 6)
	isLayout(t, term, want...)
	term.Write([]byte(strings.Repeat("\r\nmore", 50)))
	above := 0
	for y := -term.ScrollbackLen(); y < 0; y++ {
		above += len(term.Row(y).Tiles())
	}
	if above != 3 {
		t.Errorf("%d rows of the image are above the screen", above)
	}
	if d := dumpDiff(term, config(20, 6, 100)); d != "" {
		t.Error(d)
	}
}

// solid is a sixel image of one colour.
func solid(w, h, color int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\x1bP0;1q\"1;1;%d;%d#1;2;%d;%d;%d", w, h, color%100, color/100%100, color/10000%100)
	for y := 0; y < h; y += 6 {
		fmt.Fprintf(&b, "#1!%d~-", w)
	}
	return b.String() + "\x1b\\"
}

// noise is an image that cannot be packed: nearly half a MiB.
func noise(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 5))
	data := make([]byte, 400*400*3)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return kitty("a=T,f=24,s=400,v=400", data)
}

func TestImagesAreBounded(t *testing.T) {
	term := vt.New(config(80, 24, 1000))
	for i := range 16 {
		term.Write([]byte(noise(uint64(i)) + "\r\n"))
	}
	if err := term.Check(); err != nil {
		t.Fatal(err)
	}
	if n := term.ImageBytes(); n > 4<<20 || n < 2<<20 {
		t.Errorf("%d bytes of images are kept", n)
	}
	if len(term.Row(20).Tiles()) == 0 {
		t.Error("the newest image was dropped")
	}
	if d := dumpDiff(term, config(80, 24, 1000)); d != "" {
		t.Error(d[:min(len(d), 300)])
	}
}

// What claims to be large takes little memory, and what is large is cut.
func TestHugeSixelsAreCut(t *testing.T) {
	for name, out := range map[string]string{
		"claimed": "\x1bPq\"1;1;60000;60000#1~\x1b\\", "repeated": "\x1bPq" + strings.Repeat("#1!65535~-", 3000) + "\x1b\\",
		"deep": "\x1bPq" + strings.Repeat("-", 20000) + "~\x1b\\", "wide pixels": "\x1bPq\"60000;1#1~\x1b\\",
	} {
		term := vt.New(config(80, 24, 0))
		term.Write([]byte(out))
		if err := term.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for y := range 24 {
			for _, tile := range term.Row(y).Tiles() {
				if img := tile.Image; img.Width*img.Height > 4<<20 || img.Width > 10000 || img.Height > 10000 {
					t.Fatalf("%s: an image of %d by %d", name, img.Width, img.Height)
				}
			}
		}
	}
}

// A log's new segment may begin in the middle of an image.
func TestDumpInTheMiddleOfASixel(t *testing.T) {
	for cut := range len(square) {
		term, whole := vt.New(config(20, 6, 0)), vt.New(config(20, 6, 0))
		whole.Write([]byte("text" + square))
		term.Write([]byte("text" + square[:cut]))
		again := vt.New(config(20, 6, 0))
		again.Write(term.Dump())
		again.Write([]byte(square[cut:]))
		if d := vt.Diff(whole, again); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
	}
}

func FuzzSixel(f *testing.F) {
	f.Add([]byte(square[3 : len(square)-2]))
	f.Add([]byte("q\"1;1;9999;9999#1;1;360;50;50!99999~-$?#999;2;1"))
	f.Add([]byte(solid(100, 50, 7)[2:]))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		term := vt.New(config(20, 6, 30))
		term.Write([]byte("\x1bP" + string(data) + "\x1b\\"))
		if err := term.Check(); err != nil {
			t.Fatal(err)
		}
		if d := dumpDiff(term, config(20, 6, 30)); d != "" {
			t.Fatal(d)
		}
	})
}
