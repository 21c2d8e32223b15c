package render_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen"
	"den/internal/screen/render"
	"den/internal/screen/vt"
)

// doubleRows is a screen with rows of every size, a wide character and lines among them.
const doubleRows = "\x1b#6\x1b[1;33mDouble width\x1b[m \x1b[4mand lines\x1b[m\r\n" +
	"\x1b#3\x1b[32m┌─ Double 漢字 height ─┐\x1b[m\r\n\x1b#4\x1b[32m┌─ Double 漢字 height ─┐\x1b[m\r\n" +
	"single \x1b[7mas ever\x1b[m\r\n\x1b#3\x1b[44mblue\r\n\x1b#4blue\x1b[m\x1b[1;3H"

func doubleScreen() *vt.Terminal {
	term := vt.New(vt.Config{Cols: 60, Rows: 8})
	term.Write([]byte(doubleRows))
	return term
}

func TestPictureOfDoubleSizeLines(t *testing.T) {
	r := renderer(t, render.Options{Cursor: render.CursorBlock}, "")
	pic, err := r.PNG(render.FromTerminal(doubleScreen(), r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	isGolden(t, pic, filepath.Join("testdata", "double.png"))
	snapshot := screen.Capture(doubleScreen(), 0)
	again, err := r.PNG(render.FromSnapshot(&snapshot, r.Theme()))
	if err != nil || !bytes.Equal(again.Data, pic.Data) {
		t.Errorf("a snapshot is drawn in another way: %v", err)
	}
}

func TestSVGOfDoubleSizeLines(t *testing.T) {
	r := renderer(t, render.Options{}, "")
	pic, err := r.SVG(render.FromTerminal(doubleScreen(), r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(pic.Data), `preserveAspectRatio="none"`); n != 5 {
		t.Errorf("%d rows of double size", n)
	}
}

// A film paints only what changed: a double row is one thing.
func TestReelOfDoubleSizeLines(t *testing.T) {
	r := renderer(t, render.Options{Cursor: render.CursorBlock}, "")
	reel, err := r.NewReel(60, 8)
	if err != nil {
		t.Fatal(err)
	}
	term := vt.New(vt.Config{Cols: 60, Rows: 8})
	for _, out := range []string{"plain text that becomes double", "\x1b#6", "\r\x1b[5Cx", "\x1b#3", "\x1b[3;1Hnext", "\x1b[H\x1b#5\x1b[K"} {
		term.Write([]byte(out))
		reel.Next(render.FromTerminal(term, r.Theme()))
		fresh, err := r.NewReel(60, 8)
		if err != nil {
			t.Fatal(err)
		}
		fresh.Next(render.FromTerminal(term, r.Theme()))
		if !bytes.Equal(reel.AppendBGRA(nil), fresh.AppendBGRA(nil)) {
			t.Errorf("after %q the frame differs from one that is painted anew", out)
		}
	}
}
