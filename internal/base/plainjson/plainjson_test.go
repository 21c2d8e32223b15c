package plainjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"den/internal/base/plainjson"
)

func TestEncode(t *testing.T) {
	for in, want := range map[string]string{
		"plain ä 日本 👩‍👩‍👧":      "plain ä 日本 👩‍👩‍👧",
		"\x1b]0;x\a":            `\u001b]0;x\u0007`,
		"\u009b31m\u0085\x7f":   `\u009b31m\u0085\u007f`,
		"a\u202eb\u2066c\u061c": `a\u202eb\u2066c\u061c`,
		"<&>":                   "<&>",
		"\\u202e":               `\\u202e`,
	} {
		var b bytes.Buffer
		if err := plainjson.Encode(&b, map[string]string{in: in}, ""); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != `{"`+want+`":"`+want+"\"}\n" {
			t.Errorf("%q: %s", in, got)
		}
	}
	var b bytes.Buffer
	if err := plainjson.Encode(&b, []int{1}, "  "); err != nil || b.String() != "[\n  1\n]\n" {
		t.Errorf("indented: %q, %v", b.String(), err)
	}
	if err := plainjson.Encode(&b, func() {}, ""); err == nil {
		t.Error("a func has no JSON")
	}
}

// FuzzEncode: nothing in the JSON drives a terminal, and its value is that of
// encoding/json's.
func FuzzEncode(f *testing.F) {
	f.Add("a\u009bb\u202e\\")
	f.Add("\xff\x7f")
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		if err := plainjson.Encode(&b, text, ""); err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.TrimSuffix(b.String(), "\n") {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q has %U", b.String(), r)
			}
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil || got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
