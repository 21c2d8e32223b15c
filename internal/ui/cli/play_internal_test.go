package cli

import (
	"strings"
	"testing"
	"time"

	"den/internal/screen"
	"den/internal/screen/render/film"
	"den/internal/screen/vt"
)

func TestPace(t *testing.T) {
	for name, test := range map[string]struct {
		gap  time.Duration
		o    film.Options
		want time.Duration
	}{
		"as recorded":         {3 * time.Second, film.Options{Speed: 1}, 3 * time.Second},
		"without a speed":     {3 * time.Second, film.Options{}, 3 * time.Second},
		"twice as fast":       {3 * time.Second, film.Options{Speed: 2}, 1500 * time.Millisecond},
		"half as fast":        {time.Second, film.Options{Speed: 0.5}, 2 * time.Second},
		"limited":             {time.Hour, film.Options{Speed: 1, IdleLimit: 2 * time.Second}, 2 * time.Second},
		"limited, then speed": {time.Hour, film.Options{Speed: 4, IdleLimit: 2 * time.Second}, 500 * time.Millisecond},
		"accelerated":         {time.Hour, film.Options{Speed: 1, Timing: film.Accelerated}, 400 * time.Millisecond},
		"max":                 {time.Hour, film.Options{Speed: 1, Timing: film.Max}, playFrame},
		"short ones stay":     {time.Millisecond, film.Options{Speed: 1, Timing: film.Max, IdleLimit: time.Second}, time.Millisecond},
	} {
		if got := pace(test.gap, test.o); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A screen that does not fit is shown where its cursor is, and nothing of what
// programs send but text and styles reaches the viewer.
func TestFrameText(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 6})
	term.Write([]byte("one\r\ntwo\r\n\x1b[31mthree\x1b[0m\r\nfour\x1b[6n\x1b]52;c;eA==\x07"))
	shot := screen.Capture(term, 0)
	whole := frameText(&shot, 6)
	if strings.Count(whole, "\r\n") != 5 || !strings.HasPrefix(whole, "\x1b[Hone") || !strings.Contains(whole, "\x1b[38;5;1mthree") {
		t.Errorf("%q", whole)
	}
	if strings.Contains(whole, "\x1b[6n") || strings.Contains(whole, "\x1b]52") {
		t.Errorf("what the program asked for is passed on: %q", whole)
	}
	part := frameText(&shot, 2)
	if strings.Contains(part, "two") || !strings.Contains(part, "three") || !strings.Contains(part, "four") || strings.Count(part, "\r\n") != 1 {
		t.Errorf("%q", part)
	}
}
