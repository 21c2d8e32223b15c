package vt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/screen/vt"
)

// expectedToDiffer names the fixtures whose expectation den does not share.
var expectedToDiffer = map[string]string{
	"t0060-DECSC": "expects DECRC to forget a pending wrap; DEC STD 070 and today's xterm restore it",
	"t0084-CBT":   "expects CBT to leave a wrap pending away from the edge, so that the next character jumps to the next row",
}

func TestXtermFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/xterm/*.in")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in")
		t.Run(name, func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".in") + ".text")
			if err != nil {
				t.Fatal(err)
			}
			term := vt.New(vt.Config{Cols: 80, Rows: 25})
			term.Write(bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n")))
			got, wanted := string(term.AppendText(nil)), trimLines(string(want))
			if reason := expectedToDiffer[name]; reason != "" {
				if got == wanted {
					t.Errorf("matches, though listed as different: %s", reason)
				}
				need.Apart(t, "%s", reason)
			}
			if got != wanted {
				t.Errorf("got:\n%s\nwant:\n%s", got, wanted)
			}
		})
	}
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
