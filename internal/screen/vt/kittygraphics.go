package vt

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"image"
	"io"
	"strconv"
)

// Bounds of kitty's graphics protocol.
const (
	maxGraphicsControl = 256                  // of the part before the data
	maxUpload          = 4*maxPixels + 64<<10 // of the data of one image
	maxNamed           = 256                  // images that have ids
)

// graphicsCommand is the keys of a command.
type graphicsCommand map[byte]string

func readGraphicsCommand(control []byte) graphicsCommand {
	c := graphicsCommand{}
	for pair := range bytes.SplitSeq(control, []byte{','}) {
		if len(pair) > 2 && pair[1] == '=' {
			c[pair[0]] = string(pair[2:])
		}
	}
	return c
}

// number is the value of a key, 0 where there is none.
func (c graphicsCommand) number(key byte) int {
	n, err := strconv.ParseUint(c[key], 10, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

func (c graphicsCommand) id(key byte) uint32 { return uint32(c.number(key)) }

// z is the command's layer.
func (c graphicsCommand) z() int32 {
	n, err := strconv.ParseInt(c['z'], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// action is what the command does.
func (c graphicsCommand) action() byte {
	if a := c['a']; a != "" {
		return a[0]
	}
	return 't'
}

// isMore reports whether the command only brings more data of the image at hand.
func (c graphicsCommand) isMore() bool {
	for key := range c {
		if key != 'm' && key != 'q' {
			return false
		}
	}
	return true
}

// graphicsProblem is why a command is not obeyed, as it is told to the program:
// fixed texts.
type graphicsProblem string

const (
	graphicsOK       graphicsProblem = "OK"
	problemMedium    graphicsProblem = "ENOTSUP:only data in the command itself is read"
	problemAnimation graphicsProblem = "ENOTSUP:animations are not drawn"
	problemRelative  graphicsProblem = "ENOTSUP:relative places are not known"
	problemFormat    graphicsProblem = "EINVAL:unknown format"
	problemData      graphicsProblem = "EINVAL:the data is no such image"
	problemLarge     graphicsProblem = "EFBIG:the image is too large"
	problemRoom      graphicsProblem = "ENOSPC:there is no room for the image"
	problemUnknown   graphicsProblem = "ENOENT:no such image"
	problemPlace     graphicsProblem = "EINVAL:no such place"
)

// upload is an image whose data comes in several commands.
type upload struct {
	control []byte
	data    []byte
	long    bool // there is too much of it: nothing is kept
}

func (u *upload) add(payload []byte) {
	payload = bytes.TrimRight(payload, "=")
	n := base64.RawStdEncoding.DecodedLen(len(payload))
	if u.long = u.long || len(u.data)+n > maxUpload; u.long {
		u.data = nil
		return
	}
	at := len(u.data)
	u.data = append(u.data, make([]byte, n)...)
	n, _ = base64.RawStdEncoding.Decode(u.data[at:], payload) // what is no base64 is no image either
	u.data = u.data[:at+n]
}

// dispatchGraphics obeys a command of kitty's graphics protocol.
func (t *Terminal) dispatchGraphics(text []byte) {
	t.forgetLast()
	control, payload, _ := bytes.Cut(text, []byte{';'})
	if len(control) > maxGraphicsControl {
		return
	}
	c := readGraphicsCommand(control)
	var u *upload
	if t.images != nil {
		u, t.images.upload = t.images.upload, nil
	}
	if u == nil || !c.isMore() {
		if !t.beginGraphics(c) {
			return
		}
		u = &upload{control: bytes.Clone(control)}
	}
	u.add(payload)
	if c.number('m') == 1 {
		t.keptImages().upload = u
		return
	}
	t.finishUpload(readGraphicsCommand(u.control), u)
}

// beginGraphics does what needs no data, and reports whether an image comes.
func (t *Terminal) beginGraphics(c graphicsCommand) bool {
	switch c.action() {
	case 't', 'T', 'q':
		if medium := c['t']; medium != "" && medium != "d" {
			t.answerGraphics(c, c.id('i'), problemMedium) // a file of the host is none of the program's
			return false
		}
		return true
	case 'p':
		t.note(Note{Kind: NoteImage, Text: "kitty"})
		t.putNamed(c)
	case 'd':
		t.deleteImages(c)
	case 'f', 'a', 'c':
		t.answerGraphics(c, c.id('i'), problemAnimation)
	}
	return false
}

// finishUpload takes an image whose data is complete.
func (t *Terminal) finishUpload(c graphicsCommand, u *upload) {
	pic, problem := (*picture)(nil), problemLarge
	if !u.long {
		pic, problem = readGraphics(c, u.data)
	}
	if c.action() == 'q' {
		t.answerGraphics(c, c.id('i'), problem)
		return
	}
	t.note(Note{Kind: NoteImage, Text: "kitty"})
	id := t.imageID(c)
	if problem == graphicsOK {
		problem = t.takeImage(c, id, pic)
	}
	t.answerGraphics(c, id, problem)
}

// imageID is the id of the image that a command brings: its own, or a new one for
// a number. 0 is an image that nobody can name.
func (t *Terminal) imageID(c graphicsCommand) uint32 {
	if id := c.id('i'); id != 0 || c.id('I') == 0 {
		return id
	}
	id := uint32(1 << 30)
	for t.images.byID(id) != nil {
		id++
	}
	return id
}

// takeImage keeps an image, and shows it if the command says so.
func (t *Terminal) takeImage(c graphicsCommand, id uint32, pic *picture) graphicsProblem {
	if id != 0 {
		t.images.deleteNamed(id)
	}
	if !t.keepPicture(pic) {
		return problemRoom
	}
	m := t.images
	defer m.release()
	if id != 0 {
		if len(m.named) >= maxNamed {
			m.deleteName(m.named[0].id)
		}
		m.named = append(m.named, named{id: id, number: c.id('I'), pic: pic})
	}
	if c.action() != 'T' {
		return graphicsOK
	}
	return t.putImage(c, id, pic)
}

// answerGraphics tells the program how it went, if it wants to know.
func (t *Terminal) answerGraphics(c graphicsCommand, id uint32, p graphicsProblem) {
	quiet := c.number('q')
	if id == 0 && c.id('I') == 0 || quiet >= 2 || quiet == 1 && p == graphicsOK {
		return
	}
	keys := ""
	if id != 0 {
		keys = fmt.Sprintf(",i=%d", id)
	}
	if n := c.id('I'); n != 0 {
		keys += fmt.Sprintf(",I=%d", n)
	}
	if n := c.id('p'); n != 0 {
		keys += fmt.Sprintf(",p=%d", n)
	}
	t.replyf("\x1b_G%s;%s\x1b\\", keys[1:], p)
}

// readGraphics decodes an image.
func readGraphics(c graphicsCommand, data []byte) (*picture, graphicsProblem) {
	format, size := c.number('f'), 0
	w, h := c.number('s'), c.number('v')
	switch format {
	case 24:
		size = 3
	case 0, 32:
		size = 4
	case 100:
	default:
		return nil, problemFormat
	}
	if size > 0 && !fitsPicture(w, h) {
		if w == 0 || h == 0 {
			return nil, problemData
		}
		return nil, problemLarge
	}
	if c['o'] == "z" {
		limit := w * h * size
		if size == 0 {
			limit = maxUpload
		}
		data = inflated(data, limit)
	}
	if size == 0 {
		if pic := readPNG(data); pic != nil {
			return pic, graphicsOK
		}
		return nil, problemData
	}
	if len(data) < w*h*size {
		return nil, problemData
	}
	if pic := newPicture(rawImage(data, w, h, size)); pic != nil {
		return pic, graphicsOK
	}
	return nil, problemData
}

// inflated unpacks data, but not more than so many bytes of it.
func inflated(data []byte, limit int) []byte {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(z, int64(limit))) // what is cut is no image
	return out
}

// rawImage is pixels of three or four bytes each.
func rawImage(data []byte, w, h, size int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	if size == 4 {
		copy(m.Pix, data)
		return m
	}
	for i := range w * h {
		p := m.Pix[4*i : 4*i+4]
		p[0], p[1], p[2], p[3] = data[3*i], data[3*i+1], data[3*i+2], 0xff
	}
	return m
}
