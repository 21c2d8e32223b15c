package film_test

import (
	"os"
	"testing"
	"time"

	"den/internal/render"
	"den/internal/render/film"
	"den/internal/render/redact"
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
