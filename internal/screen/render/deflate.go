package render

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/klauspost/compress/flate"
)

// stripe is the amount of data that is compressed independently, so that all
// cores share the work and the output is deterministic.
const stripe = 384 << 10

// compressors are costly to make and to clear.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// zlib compresses quickly: a screen is flat and gets small anyhow. Pieces are
// compressed as soon as they are there, while the rest is still painted.
type zlib struct {
	raw   []byte
	parts []bytes.Buffer
	begun int // pieces
	work  sync.WaitGroup
	room  chan struct{} // a token for each piece in work: at the bound, the next one waits
}

func newZlib(raw []byte) *zlib {
	return &zlib{raw: raw, parts: make([]bytes.Buffer, max(1, len(raw)/stripe)), room: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

// end is where a piece ends.
func (z *zlib) end(piece int) int { return len(z.raw) * (piece + 1) / len(z.parts) }

// ready says that raw will not change any more up to there.
func (z *zlib) ready(upTo int) {
	for z.begun < len(z.parts) && z.end(z.begun) <= upTo {
		i := z.begun
		z.begun++
		z.work.Go(func() {
			z.room <- struct{}{}
			deflate(&z.parts[i], z.raw[z.end(i-1):z.end(i)], i == len(z.parts)-1)
			<-z.room
		})
	}
}

// finish compresses what is left and returns all of it, in pieces.
func (z *zlib) finish() [][]byte {
	z.ready(len(z.raw))
	sum := adler(z.raw)
	z.work.Wait()
	out := make([][]byte, 0, len(z.parts)+2)
	out = append(out, []byte{0x78, 0x01})
	for i := range z.parts {
		out = append(out, z.parts[i].Bytes())
	}
	return append(out, binary.BigEndian.AppendUint32(nil, sum))
}

// drop waits for the pieces of something that is not wanted any more.
func (z *zlib) drop() { z.work.Wait() }

func deflate(to *bytes.Buffer, raw []byte, last bool) {
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	to.Grow(len(raw)/12 + 64) // what most screens need
	w.Reset(to)
	_, err := w.Write(raw)
	if err == nil && last {
		err = w.Close()
	} else if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
}

// adler is the checksum of zlib, eight bytes at a time.
func adler(p []byte) uint32 {
	const mod = 65521
	const lanes = 0x00ff00ff00ff00ff
	a, b := uint64(1), uint64(0)
	for len(p) >= 8 {
		// So many that the sums fit: b grows by at most 8*a+9180 a step.
		n := min(len(p)/8, 1<<15)
		for range n {
			v := binary.LittleEndian.Uint64(p)
			even, odd := v&lanes, v>>8&lanes
			// The top lane of each product is a weighted sum of all lanes: byte i
			// counts 8-i times.
			b += 8*a + even*0x0008_0006_0004_0002>>48 + odd*0x0007_0005_0003_0001>>48
			a += (even + odd) * 0x0001_0001_0001_0001 >> 48
			p = p[8:]
		}
		a, b = a%mod, b%mod
	}
	for _, v := range p {
		a += uint64(v)
		b += a
	}
	return uint32(b%mod<<16 | a%mod)
}
