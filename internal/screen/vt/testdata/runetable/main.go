// Runetable writes runeprops.index and runeprops.data, which say for each rune
// how wide it is and what it can join. It is a module of its own, so that the libraries it
// asks are no part of den: cd testdata/runetable && go run .
package main

import (
	"log"
	"os"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/clipperhouse/uax29/v2/graphemes"
)

// The bits of package vt's props.
const (
	classPict     = 1 << 2
	classRegional = 2 << 2
	classModifier = 3 << 2
)

// unicodeProps is the table's byte for one rune.
func unicodeProps(r rune) byte {
	switch {
	case r < 0xA0 || !utf8.ValidRune(r):
		return 1
	case r >= 0x1F3FB && r <= 0x1F3FF:
		return classModifier | 2
	case r >= 0x1F1E6 && r <= 0x1F1FF:
		// Two cells from the start: a lone half is rare, and a flag then
		// never has to grow when its second half arrives.
		return classRegional | 2
	case r == 0xAD:
		return 1 // a soft hyphen is a visible hyphen in every terminal
	case r >= 0x1160 && r <= 0x11FF, r >= 0xD7B0 && r <= 0xD7FF:
		return 0 // vowels and finals of decomposed Hangul
	}
	w := byte(displaywidth.Rune(r))
	if oneCluster("\U0001F600\u200D"+string(r)) && !oneCluster("a\u200D"+string(r)) {
		return classPict | w
	}
	return w
}

func oneCluster(s string) bool {
	g := graphemes.FromString(s)
	g.Next()
	return len(g.Value()) == len(s)
}

const tableBlockBits = 7 // propBlockBits of package vt

func main() {
	const size = 1 << tableBlockBits
	blocks := map[string]int{}
	var index, data []byte
	for base := rune(0); base <= utf8.MaxRune; base += size {
		var b [size]byte
		for i := range b {
			b[i] = unicodeProps(base + rune(i))
		}
		n, ok := blocks[string(b[:])]
		if !ok {
			n = len(blocks)
			blocks[string(b[:])] = n
			data = append(data, b[:]...)
		}
		if n > 255 {
			log.Fatal("more than 256 different blocks")
		}
		index = append(index, byte(n))
	}
	for len(index) > 1 && index[len(index)-1] == index[len(index)-2] {
		index = index[:len(index)-1] // propsOf uses the last entry for all beyond
	}
	for name, table := range map[string][]byte{"index": index, "data": data} {
		if err := os.WriteFile("../../runeprops."+name, table, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
