package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"den/internal/base/fault"

	"github.com/pelletier/go-toml/v2"
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
		if strings.TrimSpace(text) == "" && fault.KindOf(err) == fault.Usage {
			return // an empty file is refused as a whole
		}
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
	f.Add("[session]\nprovider = 'tmux'\n[defaults]\nsession_provider = 'native'\nagent = 'script'\n[providers.m]\nagent = 'acp'\n[presets.n]\nbackend = 'x'\n[[agents]]\nname = 'a'\nprovider = 'm'\nagent = 'claude'\ndrive = 'protocol'\nruns_in = 'native'\n")
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

// Every key of the examples has the line on which it stands.
func TestTOMLKeysHaveTheirLines(t *testing.T) {
	for _, text := range []string{presetsText, exampleText(t), "a = 1\n\"b c\".d = [\n1,\n{ e = 2 }]\n[x]\n[[x.y]]\nz = \"\"\"\n[no]\n\"\"\"\nw = 1 # [c]\n[[x.y]]\nz = 'q'\n[x.y.k]\nl = true\n"} {
		n, err := parseTOML("f", text)
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, n, strings.Split(text, "\n"))
	}
}

func checkLines(t *testing.T, n *node, text []string) {
	t.Helper()
	for _, e := range n.entries {
		if !strings.Contains(text[e.value.origin.Line-1], e.key) {
			t.Errorf("%q: line %d", e.key, e.value.origin.Line)
		}
		checkLines(t, e.value, text)
	}
	for _, item := range n.items {
		checkLines(t, item, text)
	}
}

// A value is what the decoder says, and stands on its own line.
func TestTOMLValues(t *testing.T) {
	text := "a = 1_000\nb = 0x1F\nc = -1.5e3\nd = \"\\u00e9\\\"\"\ne = '''\nx'''''\nf = true\ng = [\n  'p',\n  [\n 2],\n  { h = inf,\n i.j = +7, } ]\n"
	n, err := parseTOML("f", text)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		value any
		line  int
	}{"a": {int64(1000), 1}, "b": {int64(31), 2}, "c": {-1500.0, 3}, "d": {"é\"", 4}, "e": {"x''", 5}, "f": {true, 7}} {
		if got := n.get(key); got.scalar != want.value || got.origin.Line != want.line {
			t.Errorf("%s = %#v on line %d, want %#v on %d", key, got.scalar, got.origin.Line, want.value, want.line)
		}
	}
	items := n.get("g").items
	lines := []int{items[0].origin.Line, items[1].origin.Line, items[2].origin.Line, items[2].get("i").get("j").origin.Line}
	if len(items) != 3 || !slices.Equal(lines, []int{9, 11, 12, 13}) || !math.IsInf(items[2].get("h").scalar.(float64), 1) || items[2].get("i").get("j").scalar != int64(7) {
		t.Errorf("%d items on lines %v", len(items), lines)
	}
	for text, want := range map[string]string{
		"a = 1\na = 2\n":             "f:2: ",
		"a = 1\n[a]\nb = 1\n":        "f:2: ",
		"[[a]]\n[a]\n":               "f:2: ",
		"a = 1\nb = \n":              "f:2: ",
		"a = 2026-01-01\n":           `f:1: a date or time has no place here: write it as text, "2026-01-01"`,
		"\na = 99999999999999999999": "f:2: 99999999999999999999 is too large a number",
		"a = 1\n" + strings.Repeat("b.", maxKeyParts) + "c = 1": "f:2: a key has more than 16 parts",
	} {
		if _, err := parseTOML("f", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzKeyParts: no text makes a tree whose tables are deeper than a key may have
// parts, and a tree has what the library's decoder reads.
func FuzzKeyParts(f *testing.F) {
	long := strings.TrimSuffix(strings.Repeat(`"!".`, maxKeyParts+1), ".")
	for _, seed := range []string{
		"a.b = 1", "[a.'b']\n\"c\".d = { e.f = [ { g = 1 } ] }", "x = \"\"\"a\"\"\"\"\n", "x = '''a'''''\n[[y]]", "# don't\na = 1",
		long + " = 1", "x = \"\"\"a\"\"\"\"\n" + long + " = 1", "x = { y = '''a'''', " + long + " = 1 }", "x = \"\\\"\"\n[" + long + "]",
		"a.a.a.a.a.a.a.a={a.a.a.a.a.a.a.a={a=1}}", "a = [\n{ b = 1 },\n] # x.y\r\nc = 1.5", "[[a]]\n[a.b]\nc = 1\n[[a]]", "a = []\n[a.b]", "a = 1\n[[a.b]]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 || nestsTooDeep(text) {
			return
		}
		n, err := parseTOML("f", text)
		if err != nil {
			return
		}
		if depth := n.tableDepth(); depth > maxKeyParts {
			t.Fatalf("tables are %d deep", depth)
		}
		var values map[string]any
		if err := toml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(n.plain()), fmt.Sprint(values); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func (n *node) tableDepth() int {
	most := 0
	for _, e := range n.entries {
		most = max(most, 1+e.value.tableDepth())
	}
	for _, item := range n.items {
		most = max(most, item.tableDepth())
	}
	return most
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
