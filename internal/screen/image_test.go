package screen_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
)

func TestSnapshotOfAnImage(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 4, Scrollback: 10})
	plain := screen.Capture(term, 0)
	term.Write([]byte("\r\n  \x1bP0;1q\"1;1;27;30#1!27~-\x1b\\"))
	s := screen.Capture(term, 0)
	if s.Text != plain.Text || s.Hash != plain.Hash {
		t.Errorf("an image is text: %q", s.Text)
	}
	if len(s.Images) != 1 || s.Images[0].Width != 27 || s.Images[0].Cols != 3 || len(s.Images[0].PNG) == 0 {
		t.Fatalf("images %+v", s.Images)
	}
	want := []screen.Tile{{Image: s.Images[0].ID, Col: 2, Width: 3, X: 0, Y: 1}}
	if !reflect.DeepEqual(s.Lines[2].Images, want) {
		t.Errorf("the third row shows %+v, want %+v", s.Lines[2].Images, want)
	}
	raw, err := json.Marshal(s)
	var again screen.Snapshot
	if err != nil || json.Unmarshal(raw, &again) != nil || !reflect.DeepEqual(again.Images, s.Images) {
		t.Errorf("it does not survive JSON: %v", err)
	}
	if bare := s.WithoutPictures(); bare.Images[0].PNG != nil || s.Images[0].PNG == nil {
		t.Error("the copy without pictures has one, or the snapshot lost its own")
	}
	term.Write([]byte("\r\n\n\n\n\n\n"))
	if s := screen.Capture(term, -1); len(s.Images) != 1 || len(s.Scrollback[1].Images) != 1 {
		t.Errorf("images above the screen: %+v", s.Images)
	}
}

func TestSnapshotOfDoubleSizeLines(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 4})
	term.Write([]byte("\x1b#6a\r\n\x1b#3b\r\n\x1b#4b\r\nc"))
	s := screen.Capture(term, 0)
	for y, want := range []string{"double-width", "double-top", "double-bottom", ""} {
		if s.Lines[y].Size != want {
			t.Errorf("row %d has size %q, want %q", y, s.Lines[y].Size, want)
		}
	}
}
