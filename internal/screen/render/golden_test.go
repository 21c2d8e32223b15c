package render_test

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/render"
	"den/internal/screen/vt"
)

var update = flag.Bool("update", false, "write the golden pictures anew; look at each")

// Recordings of real programs are those of the emulator's tests; the pages
// here are what such programs print, made to show every kind of character.
const programs = "../vt/testdata/programs"

var goldens = []struct {
	name, file string
	options    render.Options
	theme      string
}{
	{"vim", programs + "/vim.bin", render.Options{Cursor: render.CursorAsSet}, ""},
	{"htop", programs + "/htop.bin", render.Options{}, ""},
	{"mc", programs + "/mc.bin", render.Options{}, "gruvbox"},
	{"less", programs + "/less.bin", render.Options{}, "light"},
	{"tmux", programs + "/tmux.bin", render.Options{Cursor: render.CursorHollow}, "nord"},
	{"git-graph", "testdata/git-graph.bin", render.Options{Frame: true}, ""},
	{"cjk-emoji", "testdata/cjk-emoji.bin", render.Options{}, ""},
	{"colors", "testdata/colors.bin", render.Options{}, ""},
	{"box", "testdata/box.bin", render.Options{}, "tokyo-night"},
	{"box-2x", "testdata/box.bin", render.Options{Scale: 2}, ""},
	{"card", "testdata/card.bin", render.Options{Cursor: render.CursorAsSet}, ""},
	{"card-frame", "testdata/card.bin", render.Options{Scale: 1.5, Frame: true, Cursor: render.CursorBlock}, "dracula"},
	{"symbols", "testdata/symbols.bin", render.Options{}, ""},
	{"symbols-2x", "testdata/symbols.bin", render.Options{Scale: 2}, "light"},
	{"mc-light", programs + "/mc.bin", render.Options{}, "light"},
	{"htop-light", programs + "/htop.bin", render.Options{}, "light"},
	{"solarized", programs + "/vim.bin", render.Options{Cursor: render.CursorUnderline}, "solarized-light"},
}

// played returns a terminal after a recorded stream of bytes.
func played(t testing.TB, file string) *vt.Terminal {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	term := vt.New(vt.Config{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b[?2027h")) // some show emoji of several runes
	term.Write(raw)
	return term
}

// renderer never uses the machine's fonts: golden pictures are for everyone.
func renderer(t testing.TB, o render.Options, theme string) *render.Renderer {
	t.Helper()
	th, err := render.FindTheme(theme)
	if err != nil {
		t.Fatal(err)
	}
	o.Theme, o.EmbeddedOnly = th, true
	r, err := render.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPicturesOfRealPrograms(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			r := renderer(t, g.options, g.theme)
			pic, err := r.PNG(render.FromTerminal(played(t, g.file), r.Theme()))
			if err != nil {
				t.Fatal(err)
			}
			isGolden(t, pic, filepath.Join("testdata", g.name+".png"))
		})
	}
}

// isGolden demands the pixels of a golden picture.
func isGolden(t *testing.T, pic *render.Picture, golden string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, pic.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	samePixels(t, pic.Data, want)
}

func samePixels(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := decode(t, got), decode(t, want)
	if g.Bounds() != w.Bounds() {
		t.Fatalf("the picture is %v, want %v", g.Bounds(), w.Bounds())
	}
	differ := 0
	for y := range g.Bounds().Dy() {
		for x := range g.Bounds().Dx() {
			if g.At(x, y) != w.At(x, y) {
				if differ == 0 {
					t.Errorf("first difference at %d,%d: %v, want %v", x, y, g.At(x, y), w.At(x, y))
				}
				differ++
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d pixels differ; to accept them: go test ./internal/screen/render -update, and look", differ)
	}
}

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// A screen that came over a socket, or from a replay, is drawn as the terminal
// itself is.
func TestSnapshotDrawsLikeItsTerminal(t *testing.T) {
	for _, g := range goldens {
		term := played(t, g.file)
		r := renderer(t, g.options, g.theme)
		direct, err := r.PNG(render.FromTerminal(term, r.Theme()))
		if err != nil {
			t.Fatal(err)
		}
		shot := screen.Capture(term, 0)
		again, err := r.PNG(render.FromSnapshot(&shot, r.Theme()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(direct.Data, again.Data) {
			t.Errorf("%s: the picture of the snapshot differs from the terminal's", g.name)
			samePixels(t, again.Data, direct.Data)
		}
	}
}

func TestSameScreenSameBytes(t *testing.T) {
	for _, g := range goldens {
		var first [2][]byte
		for i := range 3 {
			r := renderer(t, g.options, g.theme)
			grid := render.FromTerminal(played(t, g.file), r.Theme())
			p, err := r.PNG(grid)
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.SVG(grid)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = [2][]byte{p.Data, s.Data}
			} else if !bytes.Equal(p.Data, first[0]) || !bytes.Equal(s.Data, first[1]) {
				t.Errorf("%s: drawn twice, it differs", g.name)
			}
		}
	}
}

func TestMissingCharactersAreTold(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 2})
	term.Write([]byte("ok 漢 🚀 \U000f1bff"))
	r := renderer(t, render.Options{}, "")
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(pic.Missing, " "); got != "U+F1BFF" {
		t.Errorf("missing %q", got)
	}
}
