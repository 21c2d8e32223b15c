package film_test

import (
	"image/color"
	"os"
	"testing"
	"time"

	"den/internal/screen/render"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
)

// A film shows images, also where a segment of the log begins within one, and a
// cast that is redacted shows none.
func TestFilmsOfImages(t *testing.T) {
	raw, err := os.ReadFile("../testdata/img2sixel.bin")
	if err != nil {
		t.Fatal(err)
	}
	half := len(raw) / 2
	l := recorded(t, 40, 10, event{0, "o", "$ img2sixel\r\n"}, event{100 * time.Millisecond, "o", string(raw[:half])}, event{code: "rotate", at: 150 * time.Millisecond},
		event{200 * time.Millisecond, "o", string(raw[half:])}, event{time.Second, "o", "\x1b[5;4Hover\x1b[9;1H$ "}, event{code: "rotate", at: 2 * time.Second}, event{3 * time.Second, "o", "ls"})
	term := lastScreen(t, l)
	if len(term.Row(1).Tiles()) == 0 {
		t.Fatal("the last screen has no image")
	}
	path, _ := write(t, l, film.Options{Format: film.GIF})
	last, _, _ := played(t, path)
	near(t, last, drawn(t, term, render.Options{}), 48)

	hide, err := redact.New(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	path, _ = write(t, l, film.Options{Format: film.Cast, Redact: hide})
	player, _ := playCast(t, path, 3)
	for y := range 10 {
		if len(player.Row(y).Tiles()) > 0 {
			t.Errorf("row %d of a redacted cast shows an image", y)
		}
	}
}

// Images take most of a GIF's colours, but not the screen's own.
func TestGIFWithImagesKeepsTheBackground(t *testing.T) {
	out := "\x1b[2;1H"
	for _, name := range []string{"img2sixel", "chafa-kitty"} {
		raw, err := os.ReadFile("../testdata/" + name + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		out += string(raw) + "\x1b[2;24H"
	}
	l := recorded(t, 40, 10, event{0, "o", out})
	path, _ := write(t, l, film.Options{Format: film.GIF})
	last, _, _ := played(t, path)
	want := drawn(t, lastScreen(t, l), render.Options{})
	if got, want := last.At(300, 170), want.At(300, 170); !sameColor(got, want) {
		t.Errorf("the background is %v, want %v", got, want)
	}
}

func sameColor(a, b color.Color) bool {
	return color.NRGBAModel.Convert(a) == color.NRGBAModel.Convert(b)
}
