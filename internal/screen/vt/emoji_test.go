package vt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// TestEditorsLeaveNoStaleCells plays recordings of editors on a file full of
// zero-width joiners and variation selectors. The editors send only what they
// think has changed. So the screen must be as it is after they draw everything
// again; where it is not, they and the terminal disagree about widths.
func TestEditorsLeaveNoStaleCells(t *testing.T) {
	files, err := filepath.Glob("testdata/emoji/*.redraw.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, redraw := range files {
		name := strings.TrimSuffix(filepath.Base(redraw), ".redraw.bin")
		t.Run(name, func(t *testing.T) {
			term := vt.New(config(80, 24, 0))
			play(t, term, "testdata/emoji/"+name+".bin")
			edited := string(term.AppendText(nil))
			play(t, term, redraw)
			compareScreens(t, edited, string(term.AppendText(nil)))
		})
	}
}

func play(t *testing.T, term *vt.Terminal, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	term.Write(data)
}
