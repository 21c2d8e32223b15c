package cell_test

import (
	"strings"
	"testing"

	"den/internal/session/cell"
)

func TestPython(t *testing.T) {
	for _, c := range []struct {
		code      string
		within    bool
		decorated bool
	}{
		{"x = 1", false, false},
		{"    return y", false, false},
		{`s = """open`, true, false},
		{"s = \"\"\"a\n\nb\"\"\"", false, false},
		{"s = '''a\n\"\"\"", true, false},
		{"f(", true, false},
		{"f([1,\n{2}", true, false},
		{"f([1,\n{2}])", false, false},
		{"f(\")\"", true, false},
		{"f() # (", false, false},
		{"x = '#('", false, false},
		{`x = "\""`, false, false},
		{`x = "\"(" + "["`, false, false},
		{"x = 1 + \\", true, false},
		{"x = 1 + \\\n  2", false, false},
		{"x = \"a\\\nb\"", false, false},
		{"x = \"not closed", false, false},
		{"@decorator", false, true},
		{"@decorator\n\n# comment", false, true},
		{"@decorator(\n1", true, true},
		{"@decorator\ndef f(): pass", false, false},
		{"a @ b", false, false},
	} {
		var p cell.Python
		for line := range strings.SplitSeq(c.code, "\n") {
			p.Add(line)
		}
		if p.Within() != c.within || p.Decorated != c.decorated {
			t.Errorf("%q: within %v, decorated %v", c.code, p.Within(), p.Decorated)
		}
	}
}
