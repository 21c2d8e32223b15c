package workspace

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// FuzzLongKey: in a text that passes, the library finds no key that is longer
// than a header and a key below it may be.
func FuzzLongKey(f *testing.F) {
	long := strings.TrimSuffix(strings.Repeat(`"!".`, maxKeyParts+1), ".")
	for _, seed := range []string{
		"a.b = 1", "[a.'b']\n\"c\".d = { e.f = [ { g = 1 } ] }", "x = \"\"\"a\"\"\"\"\n", "x = '''a'''''\n[[y]]", "# don't\na = 1",
		long + " = 1", "x = \"\"\"a\"\"\"\"\n" + long + " = 1", "x = { y = '''a'''', " + long + " = 1 }", "x = \"\\\"\"\n[" + long + "]",
		"a.a.a.a.a.a.a.a={a.a.a.a.a.a.a.a={a=1}}", "a = [\n{ b = 1 },\n] # x.y\r\nc = 1.5",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 || nestsTooDeep(text) || longKey(text) > 0 {
			return
		}
		var values map[string]any
		meta, err := toml.Decode(text, &values)
		if err != nil {
			return
		}
		for _, key := range meta.Keys() {
			if len(key) > 2*maxKeyParts {
				t.Fatalf("a key of %d parts passed", len(key))
			}
		}
	})
}
