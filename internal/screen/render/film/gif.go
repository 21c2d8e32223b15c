package film

import (
	"bufio"
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/render"
)

// tail is how long the last picture is shown.
const tail = time.Second

func errEmpty() error {
	return fault.Hintf(fault.Errorf(fault.Export, "there is nothing to show in this part of the log"), "look at --from and --to")
}

// gif writes an animation frame by frame: memory holds one.
func (m *maker) gif() error {
	s, err := m.survey()
	if err != nil {
		return err
	}
	r, err := render.New(m.o.Render)
	if err != nil {
		return err
	}
	a, err := r.NewAnimation(s.cols, s.rows)
	if err != nil {
		return err
	}
	w := &gifWriter{out: bufio.NewWriterSize(m.out, 256<<10)}
	w.header(a.Size())
	err = m.shots(s, r.Theme(), func(at time.Duration, g *render.Grid) error {
		if d := a.Next(g); d != nil {
			w.frame(at, d)
		}
		return w.err
	})
	if err != nil {
		return writeError("GIF", err)
	}
	m.result.Duration = s.end + tail
	w.finish(m.result.Duration)
	m.result.Frames = w.frames
	if w.err != nil {
		return writeError("GIF", w.err)
	}
	_, err = m.out.WriteAt(colorTable(a.Palette()), gifTableAt)
	return writeError("GIF", err)
}

// gifWriter writes the blocks of a GIF. Its colour table is left blank: the
// colours are known when all frames are drawn.
type gifWriter struct {
	out     *bufio.Writer
	err     error
	pending *render.Delta // shown until the next one is known
	since   time.Duration // when the pending one begins
	frames  int
	packed  bytes.Buffer
}

const (
	gifTableAt   = 13 // behind the header
	gifTableSize = 3 * 256
	gifLargest   = 65535 // hundredths of a second
)

func (w *gifWriter) write(p []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
}

func (w *gifWriter) header(width, height int) {
	if width > 65535 || height > 65535 {
		w.err = fault.Errorf(fault.Export, "a GIF of %d by %d pixels cannot be", width, height)
		return
	}
	b := []byte("GIF89a")
	b = binary.LittleEndian.AppendUint16(b, uint16(width))
	b = binary.LittleEndian.AppendUint16(b, uint16(height))
	b = append(b, 0xf7, 0, 0) // a table of 256 colours, 8 bits a part
	b = append(b, make([]byte, gifTableSize)...)
	b = append(b, "\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"...) // again and again
	w.write(b)
}

// frame adds the next frame and writes the previous one.
func (w *gifWriter) frame(at time.Duration, d *render.Delta) {
	w.flush(at)
	w.pending, w.since = d, at
}

func (w *gifWriter) finish(end time.Duration) {
	w.flush(end)
	w.write([]byte{0x3b})
	if w.err == nil {
		w.err = w.out.Flush()
	}
}

// flush writes the pending frame, which is shown until then.
func (w *gifWriter) flush(until time.Duration) {
	d := w.pending
	if d == nil || w.err != nil {
		return
	}
	w.pending = nil
	w.frames++
	hundredths := func(t time.Duration) int { return int(t / (10 * time.Millisecond)) }
	delay := min(hundredths(until)-hundredths(w.since), gifLargest)
	b := []byte{0x21, 0xf9, 4, 0x05} // keep what is there; index 0 is transparent
	b = binary.LittleEndian.AppendUint16(b, uint16(delay))
	b = append(b, 0, 0, 0x2c)
	for _, v := range []int{d.Box.Min.X, d.Box.Min.Y, d.Box.Dx(), d.Box.Dy()} {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	if d.Local == nil {
		b = append(b, 0)
	} else {
		b = append(append(b, 0x87), colorTable(d.Local)...)
	}
	w.write(append(b, 8)) // bits of an index
	w.pixels(d.Pix)
}

// pixels writes compressed pixels in blocks of up to 255 bytes.
func (w *gifWriter) pixels(pix []uint8) {
	w.packed.Reset()
	z := lzw.NewWriter(&w.packed, lzw.LSB, 8)
	if _, err := z.Write(pix); err != nil && w.err == nil {
		w.err = err
	}
	if err := z.Close(); err != nil && w.err == nil {
		w.err = err
	}
	for w.packed.Len() > 0 {
		block := w.packed.Next(255)
		w.write([]byte{byte(len(block))})
		w.write(block)
	}
	w.write([]byte{0})
}

// colorTable is a palette of 256 colours as GIF has it.
func colorTable(colors []render.Color) []byte {
	t := make([]byte, gifTableSize)
	for i, c := range colors {
		t[3*i], t[3*i+1], t[3*i+2], _ = c.RGBA()
	}
	return t
}
