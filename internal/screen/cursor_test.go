package screen_test

import (
	"testing"

	"den/internal/screen"
	"den/internal/screen/vt"
)

// The blanks before the cursor count: a prompt ends with one.
func TestBlanksBeforeTheCursor(t *testing.T) {
	for _, c := range []struct {
		printed, regex, text string
		want                 bool
	}{
		{"root# ", `# $`, "# ", true},
		{"$ ", `\$ $`, "$ ", true},
		{"one\r\ntwo $ ", `^one\ntwo \$ $`, "two $ ", true},
		{"名前> ", `> $`, "> ", true},
		{"$", `\$ $`, "$ ", false},
		{"$ ls", `\$ $`, "ls ", false},
		{"$ \r\nout", `\$ $`, "$ ", false}, // the cursor is elsewhere
		{"$ x\b", `\$ $`, "$  ", false},
		{"\r\n\r\n  ", `\n\n  $`, "  ", true},
	} {
		term := vt.New(vt.Config{Cols: 20, Rows: 4})
		term.Write([]byte(c.printed))
		for name, conditions := range map[string]screen.Conditions{"regex": {Regex: &c.regex}, "text": {Text: &c.text}} {
			_, unmet, err := screen.Check(term, conditions)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(unmet) == 0; got != c.want {
				t.Errorf("%s of %q: %v, want %v", name, c.printed, got, c.want)
			}
		}
	}
}
