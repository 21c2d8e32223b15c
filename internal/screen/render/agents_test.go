package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/screen/render"
	"den/internal/screen/vt"
)

// The screens of real coding agents, recorded by acceptance/agentpictures_test.go:
// every character is drawn, on any machine, and the pictures stay as they are.
func TestPicturesOfCodingAgents(t *testing.T) {
	files, err := filepath.Glob("testdata/agents/*.bin")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".bin")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			term := vt.New(vt.Config{Cols: 120, Rows: 40})
			term.Write(raw)
			r := renderer(t, render.Options{}, "")
			pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
			if err != nil {
				t.Fatal(err)
			}
			if len(pic.Missing) > 0 {
				t.Errorf("%v are not drawn", pic.Missing)
			}
			if strings.HasSuffix(name, "-asks") {
				isGolden(t, pic, strings.TrimSuffix(file, ".bin")+".png")
			}
		})
	}
}
