package vt_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// checker is an image whose pixels differ: red grows to the right, green down.
func checker(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{R: uint8(10 * x), G: uint8(10 * y), B: 7, A: 255})
		}
	}
	return m
}

func asPNG(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

func asRGB(m *image.NRGBA) []byte {
	var out []byte
	for i := 0; i < len(m.Pix); i += 4 {
		out = append(out, m.Pix[i:i+3]...)
	}
	return out
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data) // A buffer takes everything.
	z.Close()
	return b.Bytes()
}

// kitty is a command with data.
func kitty(control string, data []byte) string {
	return "\x1b_G" + control + ";" + base64.StdEncoding.EncodeToString(data) + "\x1b\\"
}

// chunked is a command whose data comes in pieces.
func chunked(control string, data []byte, size int) string {
	text := base64.StdEncoding.EncodeToString(data)
	out := "\x1b_G" + control + ",m=1\x1b\\"
	for len(text) > 0 {
		n := min(size, len(text))
		out += "\x1b_Gm=1;" + text[:n] + "\x1b\\"
		text = text[n:]
	}
	return out + "\x1b_Gm=0\x1b\\"
}

func TestKittyFormats(t *testing.T) {
	m := checker(18, 20)
	for name, out := range map[string]string{
		"RGBA": kitty("a=T,f=32,s=18,v=20,i=1", m.Pix), "RGBA by default": kitty("a=T,s=18,v=20,i=1", m.Pix),
		"RGB": kitty("a=T,f=24,s=18,v=20,i=1", asRGB(m)), "PNG": kitty("a=T,f=100,i=1", asPNG(m)),
		"packed": kitty("a=T,f=24,s=18,v=20,o=z,i=1", deflated(asRGB(m))), "packed PNG": kitty("a=T,f=100,o=z,i=1", deflated(asPNG(m))),
		"pieces": chunked("a=T,f=24,s=18,v=20,i=1", asRGB(m), 64), "in two steps": kitty("a=t,f=100,i=1,q=1", asPNG(m)) + "\x1b_Ga=p,i=1\x1b\\",
	} {
		t.Run(name, func(t *testing.T) {
			term := vt.New(config(20, 6, 0))
			term.Write([]byte(out))
			if got := string(term.TakeReplies()); got != "\x1b_Gi=1;OK\x1b\\" {
				t.Errorf("reply %q", got)
			}
			isLayout(t, term, "0: 0+2 is 0,0")
			got := pixelsOf(t, oneImage(t, term))
			for _, at := range []image.Point{{}, {X: 17}, {X: 3, Y: 19}} {
				if a, b := rgba(got.At(at.X, at.Y)), rgba(m.At(at.X, at.Y)); a != b {
					t.Errorf("pixel %v is %v, want %v", at, a, b)
				}
			}
			if d := dumpDiff(term, config(20, 6, 0)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestKittyPlaces(t *testing.T) {
	load := kitty("a=t,f=100,i=1,q=2", asPNG(checker(20, 30))) // 3 columns, 2 rows
	for _, c := range []struct {
		name, out string
		row, col  int
		source    vt.Rect
		box       vt.Rect
		want      []string
	}{
		{"as it is", "\x1b_Ga=p,i=1,q=2\x1b\\", 1, 3, vt.Rect{W: 20, H: 30}, vt.Rect{W: 20, H: 30}, []string{"0: 0+3 is 0,0", "1: 0+3 is 0,1"}},
		{"cursor stays", "\x1b[2;2H\x1b_Ga=p,i=1,C=1,q=2\x1b\\", 1, 1, vt.Rect{W: 20, H: 30}, vt.Rect{W: 20, H: 30}, []string{"1: 1+3 is 0,0", "2: 1+3 is 0,1"}},
		{"columns and rows", "\x1b_Ga=p,i=1,c=4,r=1,q=2\x1b\\", 0, 4, vt.Rect{W: 20, H: 30}, vt.Rect{W: 36, H: 20}, []string{"0: 0+4 is 0,0"}},
		{"columns", "\x1b_Ga=p,i=1,c=2,q=2\x1b\\", 1, 2, vt.Rect{W: 20, H: 30}, vt.Rect{W: 18, H: 27}, []string{"0: 0+2 is 0,0", "1: 0+2 is 0,1"}},
		{"rows", "\x1b_Ga=p,i=1,r=1,q=2\x1b\\", 0, 2, vt.Rect{W: 20, H: 30}, vt.Rect{W: 13, H: 20}, []string{"0: 0+2 is 0,0"}},
		{"a part", "\x1b_Ga=p,i=1,x=5,y=6,w=8,h=90,q=2\x1b\\", 1, 1, vt.Rect{X: 5, Y: 6, W: 8, H: 24}, vt.Rect{W: 8, H: 24}, []string{"0: 0+1 is 0,0", "1: 0+1 is 0,1"}},
		{"inside the cell", "\x1b_Ga=p,i=1,X=8,Y=19,q=2\x1b\\", 2, 4, vt.Rect{W: 20, H: 30}, vt.Rect{X: 8, Y: 19, W: 20, H: 30}, []string{"0: 0+4 is 0,0", "1: 0+4 is 0,1", "2: 0+4 is 0,2"}},
		{"at the edge", "\x1b[1;19H\x1b_Ga=p,i=1,q=2\x1b\\", 2, 0, vt.Rect{W: 20, H: 30}, vt.Rect{W: 20, H: 30}, []string{"0: 18+2 is 0,0", "1: 18+2 is 0,1"}},
		{"scrolls", "\x1b[6;1H\x1b_Ga=p,i=1,q=2\x1b\\", 5, 3, vt.Rect{W: 20, H: 30}, vt.Rect{W: 20, H: 30}, []string{"4: 0+3 is 0,0", "5: 0+3 is 0,1"}},
		{"placed anew", "\x1b_Ga=p,i=1,p=2,q=2\x1b\\\x1b[4;1H\x1b_Ga=p,i=1,p=2,r=1,q=2\x1b\\", 3, 2, vt.Rect{W: 20, H: 30}, vt.Rect{W: 13, H: 20}, []string{"3: 0+2 is 0,0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(20, 6, 10))
			term.Write([]byte(load + c.out))
			isLayout(t, term, c.want...)
			if img := oneImage(t, term); img.Source != c.source || img.Box != c.box {
				t.Errorf("source %+v, box %+v", img.Source, img.Box)
			}
			if cur := term.Cursor(); cur.Row != c.row || cur.Col != c.col {
				t.Errorf("cursor %d,%d, want %d,%d", cur.Row, cur.Col, c.row, c.col)
			}
			if r := term.TakeReplies(); r != nil {
				t.Errorf("reply %q", r)
			}
			if d := dumpDiff(term, config(20, 6, 10)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestKittyDeletes(t *testing.T) {
	show := func(id int) string {
		return kitty(fmt.Sprintf("a=T,f=100,i=%d,p=%d,z=%d,q=2", id, id, -id), asPNG(checker(9, 20)))
	}
	for command, left := range map[string]int{
		"a=d": 0, "a=d,d=A": 0, "a=d,d=i,i=1": 2, "a=d,d=I,i=2": 2, "a=d,d=i,i=1,p=9": 3, "a=d,d=r,x=1,y=2": 1,
		"a=d,d=c": 3, "a=d,d=p,x=2,y=1": 2, "a=d,d=x,x=3": 2, "a=d,d=y,y=1": 0, "a=d,d=y,y=2": 3, "a=d,d=z,z=-3": 2, "a=d,d=q,x=1,y=1,z=-3": 3, "a=d,d=f": 3,
	} {
		term := vt.New(config(20, 6, 0))
		term.Write([]byte(show(1) + show(2) + show(3) + "\x1b_G" + command + "\x1b\\"))
		if got := len(layout(term)); got != left {
			t.Errorf("%s leaves %d images, want %d", command, got, left)
		}
		if d := dumpDiff(term, config(20, 6, 0)); d != "" {
			t.Errorf("%s: %s", command, d)
		}
	}
	term := vt.New(config(20, 6, 0))
	term.Write([]byte(show(1) + show(2) + "\x1b_Ga=d,d=i,i=1\x1b\\\x1b_Ga=d,d=I,i=2\x1b\\\x1b_Ga=p,i=1\x1b\\\x1b_Ga=p,i=2\x1b\\"))
	if got, want := string(term.TakeReplies()), "\x1b_Gi=1;OK\x1b\\\x1b_Gi=2;ENOENT:no such image\x1b\\"; got != want {
		t.Errorf("replies %q, want %q", got, want)
	}
}

// Programs ask before they draw: the answer is what happens.
func TestKittyAnswers(t *testing.T) {
	m := checker(2, 2)
	ok := base64.StdEncoding.EncodeToString(m.Pix)
	for out, want := range map[string]string{
		"i=31,s=1,v=1,a=q,t=d,f=24;AAAA": "i=31;OK", "i=1,a=q;": "i=1;EINVAL:the data is no such image",
		"a=t,i=1,t=f,f=100;L2V0Yy9wYXNzd2Q=": "i=1;ENOTSUP:only data in the command itself is read", "a=q,i=1,t=s;AAAA": "i=1;ENOTSUP:only data in the command itself is read",
		"a=T,i=1,t=t;AAAA": "i=1;ENOTSUP:only data in the command itself is read", "a=t,i=1,f=7;AAAA": "i=1;EINVAL:unknown format",
		"a=T,i=1,s=9,v=9;" + ok: "i=1;EINVAL:the data is no such image", "a=T,i=1,f=100;" + ok: "i=1;EINVAL:the data is no such image",
		"a=T,i=1,s=9000,v=9000;" + ok: "i=1;EFBIG:the image is too large", "a=p,i=9": "i=9;ENOENT:no such image", "a=p,I=9": "I=9;ENOENT:no such image",
		"a=t,i=4,s=2,v=2,q=1;" + ok: "", "a=q,i=4,q=2;": "", "a=T,s=2,v=2;" + ok: "", "a=t,I=5,s=2,v=2;" + ok: "i=1073741824,I=5;OK",
		"a=T,i=1,p=8,s=2,v=2;" + ok: "i=1,p=8;OK", "a=f,i=1;": "i=1;ENOTSUP:animations are not drawn", "a=a,i=1": "i=1;ENOTSUP:animations are not drawn",
		"a=T,i=1,s=2,v=2,P=1;" + ok: "i=1;ENOTSUP:relative places are not known", "a=T,i=1,s=2,v=2,x=5;" + ok: "i=1;EINVAL:no such place",
		"a=T,i=1,s=2,v=2,c=9999;" + ok: "i=1;EINVAL:no such place", "a=d,i=1": "", "": "", "a=T,i=" + strings.Repeat("9", 300) + ";": "",
	} {
		term := vt.New(config(20, 6, 0))
		term.Write([]byte("\x1b_G" + out + "\x1b\\"))
		if want != "" {
			want = "\x1b_G" + want + "\x1b\\"
		}
		if got := string(term.TakeReplies()); got != want {
			t.Errorf("%.60s is answered by %q, want %q", out, got, want)
		}
		if shows := len(layout(term)) > 0; shows != (strings.HasPrefix(out, "a=T") && (want == "" && !strings.Contains(out, "999") || strings.Contains(want, "OK"))) {
			t.Errorf("%.60s: an image is shown: %t", out, shows)
		}
		if err := term.Check(); err != nil {
			t.Errorf("%.60s: %v", out, err)
		}
	}
}

// What unpacks to much, or says that it is large, takes no memory.
func TestKittyBombs(t *testing.T) {
	bomb := deflated(make([]byte, 20<<20))
	header := asPNG(checker(1, 1))
	copy(header[16:], []byte{0, 0, 0x27, 0x10, 0, 0, 0x27, 0x10}) // 10000 by 10000
	for name, out := range map[string]string{
		"packed": kitty("a=T,f=24,s=100,v=100,o=z,i=1", bomb), "packed PNG": kitty("a=T,f=100,o=z,i=1", bomb), "PNG": kitty("a=T,f=100,i=1", header),
	} {
		term := vt.New(config(20, 6, 0))
		term.Write([]byte(out))
		if n := term.ImageBytes(); n > 1<<20 {
			t.Errorf("%s: %d bytes are kept", name, n)
		}
		if err := term.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	term := vt.New(config(20, 6, 0))
	term.Write([]byte("\x1b_Ga=T,i=1,s=2000,v=2000,m=1\x1b\\"))
	piece := "\x1b_Gm=1;" + strings.Repeat("A", 1<<20) + "\x1b\\"
	for range 30 {
		term.Write([]byte(piece))
	}
	term.Write([]byte("\x1b_Gm=0;\x1b\\"))
	if got := string(term.TakeReplies()); got != "\x1b_Gi=1;EFBIG:the image is too large\x1b\\" {
		t.Errorf("reply %q", got)
	}
}

// A PNG is kept without what is not pixels.
func TestKittyPNGsAreBare(t *testing.T) {
	data := asPNG(checker(9, 20))
	chunk := []byte("tEXtsecret")
	text := binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4))
	text = binary.BigEndian.AppendUint32(append(text, chunk...), crc32.ChecksumIEEE(chunk))
	at := bytes.Index(data, []byte("IDAT")) - 4
	term := vt.New(config(20, 6, 0))
	withText := append(append(bytes.Clone(data[:at]), text...), data[at:]...)
	term.Write([]byte(kitty("a=T,f=100,i=1", withText)))
	if img := oneImage(t, term); !bytes.Equal(img.PNG, data) {
		t.Errorf("%d bytes are kept of %d, want %d", len(img.PNG), len(withText), len(data))
	}
}

func TestKittyManyImages(t *testing.T) {
	term := vt.New(config(20, 6, 0))
	for i := range 400 {
		term.Write([]byte(kitty(fmt.Sprintf("a=t,f=24,s=1,v=1,q=2,i=%d", i+1), []byte{byte(i), byte(i >> 8), 1})))
	}
	term.Write([]byte("\x1b_Ga=p,i=1\x1b\\\x1b_Ga=p,i=400\x1b\\"))
	if got, want := string(term.TakeReplies()), "\x1b_Gi=1;ENOENT:no such image\x1b\\\x1b_Gi=400;OK\x1b\\"; got != want {
		t.Errorf("replies %q, want %q", got, want)
	}
	if d := dumpDiff(term, config(20, 6, 0)); d != "" {
		t.Error(d[:min(len(d), 300)])
	}
}

func TestPlaceholders(t *testing.T) {
	load := kitty("a=T,U=1,f=100,i=66,c=3,r=2,q=2", asPNG(checker(27, 40)))
	const cell = "\U0010eeee"
	for _, c := range []struct {
		name, out string
		want      []string
	}{
		{"all marks", "\x1b[38;5;66m" + cell + "\u0305\u0305" + cell + "\u0305\u030d" + cell + "\u0305\u030e", []string{"0: 0+3 is 0,0"}},
		{"first marks", "\x1b[38;5;66m" + cell + "\u030d\u0305" + cell + cell, []string{"0: 0+3 is 0,1"}},
		{"rows only", "\x1b[38;2;0;0;66m" + cell + "\u030d" + cell + "\u030d" + cell + "\u0305", []string{"0: 0+2 is 0,1", "0: 2+1 is 0,0"}},
		{"no marks", "\x1b[38;5;66m" + cell + cell, []string{"0: 0+2 is 0,0"}},
		{"outside", "\x1b[38;5;66m" + cell + "\u0310" + cell + "\u0305\u0310", nil},
		{"another image", "\x1b[38;5;67m" + cell, nil},
		{"another place", "\x1b[38;5;66;58:5:4m" + cell, nil},
		{"text between", "\x1b[38;5;66m" + cell + "\u0305\u030dx" + cell, []string{"0: 0+1 is 1,0", "0: 2+1 is 0,0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := vt.New(config(20, 6, 0))
			term.Write([]byte(load))
			isLayout(t, term)
			term.Write([]byte(c.out))
			isLayout(t, term, c.want...)
			text := strings.TrimSpace(string(term.AppendText(nil)))
			if text != "" && text != "x" {
				t.Errorf("text %q", text)
			}
			if d := dumpDiff(term, config(20, 6, 0)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDumpInTheMiddleOfAnUpload(t *testing.T) {
	out := "text" + chunked("a=T,f=24,s=9,v=20,i=1", asRGB(checker(9, 20)), 400) + "more"
	whole := vt.New(config(20, 6, 0))
	whole.Write([]byte(out))
	for cut := len("text"); cut < len(out); cut += 7 {
		term, again := vt.New(config(20, 6, 0)), vt.New(config(20, 6, 0))
		term.Write([]byte(out[:cut]))
		again.Write(term.Dump())
		again.Write([]byte(out[cut:]))
		if d := vt.Diff(whole, again); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
	}
}

func FuzzKittyGraphics(f *testing.F) {
	f.Add("a=T,f=24,s=2,v=2,i=1", []byte("123456789012"), uint8(0))
	f.Add("a=T,f=100,i=1,c=3", asPNG(checker(5, 5)), uint8(3))
	f.Add("a=t,f=32,s=1,v=1,o=z,i=1,m=1", deflated([]byte("1234")), uint8(1))
	f.Add("a=d,d=P,x=1,y=1", []byte(nil), uint8(2))
	f.Fuzz(func(t *testing.T, control string, data []byte, cut uint8) {
		if len(data) > 1<<14 || strings.ContainsFunc(control, func(r rune) bool { return r < 0x20 }) {
			return
		}
		term := vt.New(config(20, 6, 30))
		at := min(int(cut), len(data))
		term.Write([]byte(kitty(control, data[:at]) + kitty("m=0", data[at:]) + "\x1b_Ga=p,i=1\x1b\\"))
		if err := term.Check(); err != nil {
			t.Fatal(err)
		}
		if r := term.TakeReplies(); !replyGrammar.Match(r) {
			t.Fatalf("reply %q", r)
		}
		if d := dumpDiff(term, config(20, 6, 30)); d != "" {
			t.Fatal(d)
		}
	})
}
