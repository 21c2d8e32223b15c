package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/render"
	"den/internal/screen/render/redact"
)

// near is how much a channel of a pixel, from 0 to 255, may differ unnoticed: less
// than anybody sees, and more than processors differ in the rounding of letters'
// edges.
const near = 8

// maxPicturePixels bounds the pictures that are read: more than any terminal has.
const maxPicturePixels = 64 << 20

// Tolerance is how many pixels of a picture may differ, in percent.
type Tolerance float64

// UnmarshalJSON reads "0.5%".
func (t *Tolerance) UnmarshalJSON(raw []byte) error {
	var word string
	if err := json.Unmarshal(raw, &word); err != nil {
		return err
	}
	number, found := strings.CutSuffix(word, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !found || !(v >= 0 && v <= 100) {
		return fmt.Errorf("tolerance '%s' is not a share such as 0.5%%", word)
	}
	*t = Tolerance(v)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (t Tolerance) MarshalJSON() ([]byte, error) { return marshal(t.String()) }

func (t Tolerance) String() string { return strconv.FormatFloat(float64(t), 'g', -1, 64) + "%" }

// Painter draws screens as they are compared: in the default theme, with the
// cursor, and with den's own fonts alone, so that a picture is the same on every
// machine. It is for one goroutine.
type Painter struct {
	Hide     *redact.Redactor // or nil: covers what no picture may show
	renderer *render.Renderer
}

// Draw returns a PNG of the screen. The rows that s leaves open are empty in it.
func (p *Painter) Draw(s *Screen, shot *screen.Snapshot) ([]byte, error) {
	if p.renderer == nil {
		r, err := render.New(render.Options{Cursor: render.CursorAsSet, EmbeddedOnly: true})
		if err != nil {
			return nil, err
		}
		p.renderer = r
	}
	g := render.FromSnapshotRedacted(shot, p.renderer.Theme(), p.Hide)
	for y := range s.Rows {
		if s.Rows[y].open() {
			g.Empty(y)
		}
	}
	pic, err := p.renderer.PNG(g)
	if err != nil {
		return nil, err
	}
	return pic.Data, nil
}

// PictureDiff is how the picture of a screen differs from the expected one.
type PictureDiff struct {
	File    string  `json:"file"`              // the expected one, as the step names it
	Pixels  int     `json:"different_pixels"`  // so many differ
	Percent float64 `json:"different_percent"` // of all
	Resized bool    `json:"resized,omitempty"` // one of the two is larger

	Want, Got, Diff []byte `json:"-"` // PNGs; in Diff what differs is red
}

// share is how many pixels differ, for people.
func (d *PictureDiff) share() string {
	if d.Percent >= 1 {
		return fmt.Sprintf("%.1f%%", d.Percent)
	}
	return fmt.Sprintf("%.2g%% (%d)", d.Percent, d.Pixels)
}

// PicturePath is where the picture of an expected screen is, as seen from dir.
func (s *Screen) PicturePath(dir string) string {
	if filepath.IsAbs(s.Picture) {
		return s.Picture
	}
	return filepath.Join(dir, s.Picture)
}

// ReadPicture reads a picture that a script expects.
func ReadPicture(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Hintf(fault.Errorf(fault.NotFound, "read picture: %w", err), "'den test --update' writes it")
	}
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	c, err := png.DecodeConfig(bytes.NewReader(raw))
	if err == nil && c.Width*c.Height > maxPicturePixels {
		err = fmt.Errorf("it has %d by %d pixels", c.Width, c.Height)
	}
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "read picture %s: %w", path, err)
	}
	return raw, nil
}

// ComparePictures returns how two PNGs differ, or nil if no more pixels do than
// may.
func ComparePictures(want, got []byte, may Tolerance) (*PictureDiff, error) {
	if bytes.Equal(want, got) {
		return nil, nil
	}
	w, err := pixels(want)
	if err != nil {
		return nil, err
	}
	g, err := pixels(got)
	if err != nil {
		return nil, err
	}
	area := w.Rect.Union(g.Rect)
	both := w.Rect.Intersect(g.Rect)
	marks := image.NewRGBA(area)
	n := 0
	for y := range area.Dy() {
		for x := range area.Dx() {
			if !(image.Point{X: x, Y: y}.In(both)) || !alike(w.RGBAAt(x, y), g.RGBAAt(x, y)) {
				n++
				marks.SetRGBA(x, y, color.RGBA{0xff, 0, 0, 0xff})
				continue
			}
			c := g.RGBAAt(x, y)
			v := uint8((int(c.R) + int(c.G) + int(c.B)) / 9) // dark, so that red is seen
			marks.SetRGBA(x, y, color.RGBA{v, v, v, 0xff})
		}
	}
	d := &PictureDiff{Pixels: n, Percent: 100 * float64(n) / float64(area.Dx()*area.Dy()), Resized: both != area, Want: want, Got: got}
	if !d.Resized && d.Percent <= float64(may) {
		return nil, nil
	}
	var out bytes.Buffer
	if err := png.Encode(&out, marks); err != nil {
		return nil, fmt.Errorf("draw the difference of two pictures: %w", err)
	}
	d.Diff = out.Bytes()
	return d, nil
}

func pixels(raw []byte) (*image.RGBA, error) {
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "read picture: %w", err)
	}
	out := image.NewRGBA(image.Rect(0, 0, m.Bounds().Dx(), m.Bounds().Dy()))
	draw.Draw(out, out.Rect, m, m.Bounds().Min, draw.Src)
	return out, nil
}

func alike(a, b color.RGBA) bool {
	off := func(a, b uint8) bool { return max(a, b)-min(a, b) > near }
	return !off(a.R, b.R) && !off(a.G, b.G) && !off(a.B, b.B) && !off(a.A, b.A)
}
