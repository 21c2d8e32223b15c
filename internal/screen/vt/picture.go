package vt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"image"
	"image/png"
	"sync"
)

// Bounds of one picture. A larger one is refused, or cut.
const (
	maxSide   = 10000   // pixels
	maxPixels = 4 << 20 // 16 MiB while it is decoded
)

// picture is what a program sent, as a PNG that holds nothing but pixels.
type picture struct {
	png  []byte
	w, h int
	sum  uint64 // of png
	age  uint64 // older ones have smaller numbers
}

// fitsPicture reports whether a picture of that size is taken.
func fitsPicture(w, h int) bool {
	return w > 0 && h > 0 && w <= maxSide && h <= maxSide && w*h <= maxPixels
}

// newPicture encodes m.
func newPicture(m image.Image) *picture {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: pngBuffers}
	if err := e.Encode(&b, m); err != nil {
		return nil // a size that PNG does not have
	}
	return pictureOf(b.Bytes(), m.Bounds().Dx(), m.Bounds().Dy())
}

// pngBuffers are used again: one has a megabyte.
var pngBuffers = &bufferPool{}

type bufferPool struct{ sync.Pool }

func (p *bufferPool) Get() *png.EncoderBuffer {
	b, _ := p.Pool.Get().(*png.EncoderBuffer) // nil: the encoder makes one
	return b
}

func (p *bufferPool) Put(b *png.EncoderBuffer) { p.Pool.Put(b) }

func pictureOf(data []byte, w, h int) *picture {
	sum := sha256.Sum256(data)
	return &picture{png: data, w: w, h: h, sum: binary.BigEndian.Uint64(sum[:8])}
}

// readPNG checks a PNG, and returns nil if it is none, or too large. Its size is
// looked at before anything is decoded.
func readPNG(data []byte) *picture {
	c, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || !fitsPicture(c.Width, c.Height) {
		return nil
	}
	data = bareChunks(data)
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		return nil
	}
	return pictureOf(data, c.Width, c.Height)
}

const pngHeader = "\x89PNG\r\n\x1a\n"

// bareChunks keeps of a PNG what its pixels need. Readers of other chunks can be
// made to read much, or what is nobody's business.
func bareChunks(data []byte) []byte {
	out := make([]byte, 0, len(data))
	out = append(out, pngHeader...)
	for rest := data[len(pngHeader):]; len(rest) >= 12; {
		n := int64(binary.BigEndian.Uint32(rest)) + 12
		if n > int64(len(rest)) {
			break
		}
		switch string(rest[4:8]) {
		case "IHDR", "PLTE", "tRNS", "IDAT", "IEND":
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	return out
}
