package tmux

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesAreOneToOne(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range []string{"a.b", "a:b", "a_b", "a-b", "a/b", "a_2eb", "a_5f2eb", "A.b", "=a", "%1", "$1", "@1", "#{a}", "größe", "a;", "", "_", "__"} {
		enc := encode(name)
		if other, taken := seen[enc]; taken {
			t.Errorf("%q and %q are both %q", name, other, enc)
		}
		seen[enc] = name
		if strings.ContainsAny(enc, ".:#=%$@{}, ;") {
			t.Errorf("encode(%q) = %q: tmux reads meaning into that", name, enc)
		}
		if back, ok := decode(enc); !ok || back != name {
			t.Errorf("decode(%q) = %q, %v; want %q", enc, back, ok, name)
		}
	}
	for _, bad := range []string{"_", "_2", "_2E", "_61", "a.b", "_zz"} {
		if got, ok := decode(bad); ok {
			t.Errorf("decode(%q) = %q, want none", bad, got)
		}
	}
	if a, b := ownerPrefix(strings.Repeat("x", 200)), ownerPrefix(strings.Repeat("x", 201)); a == b || len(a) > maxOwner {
		t.Errorf("long owners are %q and %q", a, b)
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("w.1")
	f.Add("_2e")
	f.Fuzz(func(t *testing.T, name string) {
		if back, ok := decode(encode(name)); !ok || back != name {
			t.Errorf("decode(encode(%q)) = %q, %v", name, back, ok)
		}
	})
}

// What a pane shows may look like the end of an answer.
func TestAnswersCannotBeForged(t *testing.T) {
	t.Parallel()
	raw := []string{"%begin 10 5 1", "%end 10 5 1", "%begin 10 6 1", "%sessions-changed", "text", "%error 10 5 1", "%end 10 5 1", "%window-close @1"}
	out, notes, err := readSingle(raw)
	if err != nil || !slices.Equal(out, raw[1:6]) || !slices.Equal(notes, raw[7:]) {
		t.Errorf("readSingle = %q, %q, %v", out, notes, err)
	}
	if _, _, err := readSingle([]string{"%begin 10 5 1", "no such pane", "%error 10 5 1"}); !refused(err) || !strings.Contains(err.Error(), "no such pane") {
		t.Errorf("a refusal is read as %v", err)
	}
	for _, garbled := range [][]string{nil, {"text"}, {"%begin 10 5 1", "%end 10 6 1"}} {
		if _, _, err := readSingle(garbled); err != errGarbled {
			t.Errorf("readSingle(%q) = %v", garbled, err)
		}
	}
}

func TestSequences(t *testing.T) {
	t.Parallel()
	out, notes, err := readSequence([]string{
		"%begin 1 1 1", "one", "%end 1 1 1", "%sessions-changed", "%begin 1 2 0", "of somebody else", "%end 1 2 0", "%begin 1 3 1", "%not a note", "%end 1 3 1",
	})
	if err != nil || !slices.Equal(out, []string{"one", "%not a note"}) || !slices.Equal(notes, []string{"%sessions-changed"}) {
		t.Errorf("readSequence = %q, %q, %v", out, notes, err)
	}
	if _, _, err := readSequence([]string{"%begin 1 1 1", "%end 1 1 1", "%begin 1 2 1", "duplicate session", "%error 1 2 1"}); !refused(err) {
		t.Errorf("a refusal in a sequence is read as %v", err)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("%begin 1 1 1\n%end 1 1 1")
	f.Add("%error\n%begin  \n%end 1")
	f.Fuzz(func(t *testing.T, text string) {
		raw := strings.Split(text, "\n")
		readSingle(raw)   // neither may panic
		readSequence(raw) // or hang
		parsePane(text)
	})
}
