package steps_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/render/redact"
	"den/internal/session/steps"
)

// pictureOf draws what a program has printed, with the rows of a screen.
func pictureOf(t *testing.T, s *steps.Screen, output string) []byte {
	t.Helper()
	raw, err := new(steps.Painter).Draw(s, shotOf(t, output))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func compare(t *testing.T, want, got []byte, may steps.Tolerance) *steps.PictureDiff {
	t.Helper()
	d, err := steps.ComparePictures(want, got, may)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a person sees is in the picture, and its smallest part is enough to tell
// two from each other.
func TestPicturesDiffer(t *testing.T) {
	s := &steps.Screen{Picture: "x.png"}
	const plain = "plain . \x1b[31m.\x1b[m"
	want := pictureOf(t, s, plain)
	if d := compare(t, want, pictureOf(t, s, plain), 0); d != nil {
		t.Errorf("a screen differs from itself: %+v", d)
	}
	for name, output := range map[string]string{
		"a colour":              "plain . \x1b[32m.\x1b[m",
		"a near colour":         "plain . \x1b[91m.\x1b[m",
		"no colour":             "plain . .",
		"a background":          plain + "\x1b[3;5H\x1b[44m \x1b[m\x1b[1;10H",
		"bold":                  "plain . \x1b[1;31m.\x1b[m",
		"an underline":          "plain .\x1b[4m \x1b[m\x1b[31m.\x1b[m",
		"a letter":              "plaim . \x1b[31m.\x1b[m",
		"where the cursor is":   plain + "\b",
		"that there is none":    plain + "\x1b[?25l",
		"its shape":             plain + "\x1b[5 q",
		"an image":              plain + "\x1b[3;5H\x1bPq#1;2;90;90;90#1~~~~~~\x1b\\\x1b[1;10H",
		"the colours of it all": plain + "\x1b[?5h",
	} {
		d := compare(t, want, pictureOf(t, s, output), 0)
		if d == nil {
			t.Errorf("%s: the pictures do not differ", name)
			continue
		}
		red := 0
		m, err := png.Decode(bytes.NewReader(d.Diff))
		if err != nil {
			t.Fatal(err)
		}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				if m.At(x, y) == (color.RGBA{0xff, 0, 0, 0xff}) || m.At(x, y) == (color.NRGBA{0xff, 0, 0, 0xff}) {
					red++
				}
			}
		}
		if red != d.Pixels || red == 0 {
			t.Errorf("%s: %d pixels differ, and %d are red", name, d.Pixels, red)
		}
	}
}

func TestPicturesWithinTolerance(t *testing.T) {
	s := &steps.Screen{Picture: "x.png"}
	want, got := pictureOf(t, s, "plain\x1b[?25l"), pictureOf(t, s, "plaim\x1b[?25l")
	d := compare(t, want, got, 0)
	if d == nil || d.Percent <= 0 || d.Percent > 0.5 {
		t.Fatalf("%+v", d)
	}
	if at := steps.Tolerance(d.Percent); compare(t, want, got, at) != nil || compare(t, want, got, at*0.99) == nil {
		t.Errorf("%v is the share that differs, and the limit is another", at)
	}
	// Another size is never within it.
	small := image.NewRGBA(image.Rect(0, 0, 10, 10))
	var b bytes.Buffer
	if err := png.Encode(&b, small); err != nil {
		t.Fatal(err)
	}
	if d := compare(t, want, b.Bytes(), 100); d == nil || !d.Resized {
		t.Errorf("%+v", d)
	}
}

// Nobody sees a step of a channel, but everybody one of ten.
func TestPixelsAreNear(t *testing.T) {
	one := func(v uint8) []byte {
		m := image.NewRGBA(image.Rect(0, 0, 1, 1))
		m.SetRGBA(0, 0, color.RGBA{100, v, 100, 255})
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for v, same := range map[uint8]bool{92: true, 99: true, 100: true, 108: true, 91: false, 109: false, 0: false} {
		if d := compare(t, one(100), one(v), 0); (d == nil) != same {
			t.Errorf("100 and %d: same %v, want %v", v, d == nil, same)
		}
	}
}

// What a row leaves open is not in the picture, nor is what must not be told.
func TestPicturesLeaveOut(t *testing.T) {
	s := parse(t, `{"rows":["a",null,{"regex":"[0-9]+"},"b"],"picture":"x.png"}`)
	want := pictureOf(t, s, "a\n\x1b[41msome\x1b[m\n12\nb\x1b[2;3H")
	if d := compare(t, want, pictureOf(t, s, "a\nother\n\x1b[32m345\x1b[m\nb\x1b[2;5H"), 0); d != nil {
		t.Errorf("open rows are compared: %+v", d)
	}
	if d := compare(t, want, pictureOf(t, s, "a\nother\n345\n\x1b[32mb\x1b[m\x1b[2;5H"), 0); d == nil {
		t.Error("the row below them is not")
	}
	hide, err := redact.New([]string{"hunter2"}, false)
	if err != nil {
		t.Fatal(err)
	}
	p := steps.Painter{Hide: hide}
	covered := func(output string) []byte {
		raw, err := p.Draw(&steps.Screen{}, shotOf(t, output+"\x1b[?25l"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if d := compare(t, covered("it is hunter2"), pictureOf(t, &steps.Screen{}, "it is hunter2\x1b[?25l"), 0); d == nil {
		t.Error("a secret is drawn")
	}
}

func TestPicturesAreRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.png")
	if _, err := steps.ReadPicture(path); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "--update") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("no picture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := steps.ReadPicture(path); fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), path) {
		t.Errorf("%v", err)
	}
}
