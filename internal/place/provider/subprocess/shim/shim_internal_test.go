package shim

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// The ring is held against what is simple: all bytes, cut at the front.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var r ring
	var all []byte
	for i := range 100 {
		p := bytes.Repeat([]byte{byte(i)}, random.IntN(Kept/8))
		if i == 80 {
			p = bytes.Repeat([]byte("0123456789"), Kept/5)
		}
		r.write(p)
		all = append(all, p...)
		want := all[max(0, len(all)-Kept):]
		if !bytes.Equal(r.bytes(), want) || r.cut != (len(all) > Kept) {
			t.Fatalf("after %d writes the ring differs", i)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		output string
		cut    bool
		n      int
		want   string
	}{
		{"", false, 5, ""},
		{"\n \n\n", false, 0, ""},
		{"a\nb\nc\n\n  \n", false, 2, "b\nc"},
		{"a\r\nb\r\n", false, 0, "a\nb"},
		{"a\n\nb", false, 2, "\nb"},
		{"rt of a line\nb\nc\n", true, 0, "b\nc"},
		{"\x96ne long line", true, 0, "ne long line"},
		{"one\n", true, 0, "one"},
		{"a\xffb", false, 0, "a\uFFFDb"},
	} {
		if got := LastLines([]byte(c.output), c.cut, c.n); got != c.want {
			t.Errorf("LastLines(%q, %v, %d) = %q, want %q", c.output, c.cut, c.n, got, c.want)
		}
	}
}
