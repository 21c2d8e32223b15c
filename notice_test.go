package den_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// NOTICE.md lists exactly the modules that the binaries link.
func TestNoticeListsLinkedModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/den", "./cmd/dend").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	linked = slices.Compact(linked)
	raw, err := os.ReadFile("NOTICE.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(raw)) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && strings.Contains(cells[0], ".") {
			listed = append(listed, strings.TrimPrefix(cells[0], "| "))
		}
	}
	slices.Sort(listed)
	for _, module := range linked {
		if !slices.Contains(listed, module) {
			t.Errorf("%s is linked and not in NOTICE.md", module)
		}
	}
	for _, module := range listed {
		if !slices.Contains(linked, module) {
			t.Errorf("%s is in NOTICE.md and not linked", module)
		}
	}
}
