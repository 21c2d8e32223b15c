package render

import (
	"bytes"
	stdzlib "compress/zlib"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"testing"
)

func TestAdlerIsThatOfTheStandardLibrary(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 8, 9, 255, 5552, 70_001, 1 << 20} {
		random, high := make([]byte, n), bytes.Repeat([]byte{0xff}, n)
		for i := range random {
			random[i] = byte(rnd.Uint32())
		}
		for _, p := range [][]byte{random, high} {
			if got, want := adler(p), adler32.Checksum(p); got != want {
				t.Errorf("adler of %d bytes = %08x, want %08x", n, got, want)
			}
		}
	}
}

func TestZlibIsReadByTheStandardLibrary(t *testing.T) {
	for _, n := range []int{0, 1, stripe - 1, 3*stripe + 5} {
		raw := make([]byte, n)
		for i := range raw {
			raw[i] = byte(i / 100)
		}
		z := newZlib(raw)
		z.ready(n / 2)
		r, err := stdzlib.NewReader(bytes.NewReader(bytes.Join(z.finish(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%d bytes came back as %d, %v", n, len(got), err)
		}
	}
}
