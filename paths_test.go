package den_test

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	goFileName = regexp.MustCompile("`([a-z/]+\\.go)`")
	goName     = regexp.MustCompile("`(?:[A-Za-z]+\\.)?([A-Z]?[a-z]+[A-Z][A-Za-z]*|[A-Z][a-z]+)`")
)

// TestTracedPathsExist holds the tables of docs/architecture.md against the
// code: the files of a row are there, and have the functions that it names.
func TestTracedPathsExist(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(line, "|")
		if len(columns) != 4 || !strings.HasPrefix(columns[1], " `internal/") || !strings.Contains(columns[1], ".go`") {
			continue
		}
		rows++
		var code strings.Builder
		dir := ""
		for _, m := range goFileName.FindAllStringSubmatch(columns[1], -1) {
			name := m[1]
			if !strings.Contains(name, "/") { // of the same directory as the one before
				name = path.Join(dir, name)
			}
			dir = path.Dir(name)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Errorf("docs/architecture.md traces a path through a file that is gone: %v", err)
			}
			code.Write(text)
		}
		for _, m := range goName.FindAllStringSubmatch(columns[2], -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(code.String()) {
				t.Errorf("docs/architecture.md: %s has no %s", strings.TrimSpace(columns[1]), m[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows of files, want the three paths: does this test still read the tables?", rows)
	}
}
