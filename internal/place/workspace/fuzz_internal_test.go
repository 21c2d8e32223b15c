package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"den/internal/base/fault"
)

// Whatever stands in a file, loading ends with a workspace or with problems.
func fuzzLoad(f *testing.F, path string) {
	f.Fuzz(func(t *testing.T, text string) {
		w, err := load(path, func(p string) (string, error) {
			if p == path {
				return text, nil
			}
			return "", fs.ErrNotExist
		})
		var problems Problems
		if err != nil && (!errors.As(err, &problems) || fault.KindOf(err) != fault.Usage) {
			t.Fatalf("an error without problems: %v", err)
		}
		if err == nil {
			for i := range w.Agents {
				for _, s := range w.Agents[i].Explain() {
					if len(s.Origins) == 0 || s.Text() == "?" {
						t.Errorf("%s has no origin or no text", s.Key)
					}
				}
			}
		}
	})
}

func seed(f *testing.F, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
}

func FuzzLoadTOML(f *testing.F) {
	seed(f, "testdata/city/city.toml")
	f.Add(presetsText)
	f.Add(exampleText(f))
	f.Add("a.b.'c'.\"d\" = [{x=1},\n[2]]\n[[q.w]]\n[q.w.e]\nz='''\n'''\n")
	f.Add("x = " + strings.Repeat("[", 2000))
	fuzzLoad(f, "/w/den.toml")
}

func FuzzLoadYAML(f *testing.F) {
	seed(f, "testdata/channels/agents.yaml")
	f.Add("a: &x {b: 1}\nagents:\n- <<: *x\n  name: !!str y\n- |\n  z\n")
	f.Add("include: [den.yaml]\nproviders: {p: {env: {A: 1.5}}}\n---\n")
	f.Add(strings.Repeat("- ", 5000))
	fuzzLoad(f, "/w/den.yaml")
}

// The scan for lines agrees with the library on every path of the examples.
func TestTOMLLinesCoverEveryKey(t *testing.T) {
	for _, text := range []string{presetsText, exampleText(t), "a = 1\n\"b c\".d = [\n1,\n{ e = 2 }]\n[x]\n[[x.y]]\nz = \"\"\"\n[no]\n\"\"\"\nw = 1 # [c]\n[[x.y]]\nz = 'q'\n[x.y.k]\nl = true\n"} {
		n, err := parseTOML("f", text)
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, n, "", tomlLines(text), strings.Split(text, "\n"))
	}
}

func checkLines(t *testing.T, n *node, path string, lines map[string]int, text []string) {
	t.Helper()
	for _, e := range n.entries {
		child := joinPath(path, e.key)
		line, ok := lines[child]
		if !ok || !strings.Contains(text[line-1], e.key) {
			t.Errorf("%q: line %d, %v", child, line, ok)
		}
		checkLines(t, e.value, child, lines, text)
	}
	for i, item := range n.items {
		child := joinPath(path, strconv.Itoa(i))
		if _, ok := lines[child]; !ok {
			t.Errorf("%q has no line", child)
		}
		checkLines(t, item, child, lines, text)
	}
}

// exampleText is the example without its directory's name filled in.
func exampleText(t testing.TB) string {
	t.Helper()
	text, err := Example("", "w", true)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
