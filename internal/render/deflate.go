package render

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/klauspost/compress/flate"
)

// stripe is how much is compressed as one piece. Pieces do not depend on each
// other, so all cores share the work, and always the same pieces come out.
const stripe = 384 << 10

// compressors are costly to make and to clear.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

// zlibbed compresses quickly: a screen is flat and gets small anyhow.
func zlibbed(raw []byte) []byte {
	n := max(1, len(raw)/stripe)
	parts := make([]bytes.Buffer, n)
	var sum uint32
	var wg sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0)) // at the bound, pieces wait
	for i := range n {
		running <- struct{}{}
		wg.Go(func() {
			deflate(&parts[i], raw[len(raw)*i/n:len(raw)*(i+1)/n], i == n-1)
			<-running
		})
	}
	sum = adler(raw)
	wg.Wait()
	out := []byte{0x78, 0x01}
	for i := range parts {
		out = append(out, parts[i].Bytes()...)
	}
	return binary.BigEndian.AppendUint32(out, sum)
}

func deflate(to *bytes.Buffer, raw []byte, last bool) {
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
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
