package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The film's window, in CSS pixels, and how many pixels one is.
const (
	filmWidth  = 1000
	filmHeight = 620
	filmScale  = 1.5
	filmColors = 192
)

// film is shots, each for a time.
type film struct {
	*studio
	frames []frame
	now    shot // what the next frame is, but for its picture
}

type frame struct {
	shot
	lasts time.Duration
}

// chapter begins a new part of the story.
func (f *film) chapter(words string) {
	f.now.Number++
	f.now.Caption = words
}

// hold shows a picture for a while; nil: the one before.
func (f *film) hold(picture []byte, lasts time.Duration) {
	s := f.now
	s.Picture = picture
	if f.now.Pointer != nil {
		p := *f.now.Pointer
		s.Pointer = &p
	}
	f.frames = append(f.frames, frame{s, lasts})
}

// glide moves the pointer over the picture that is shown.
func (f *film) glide(to pointer) {
	from := *f.now.Pointer
	const steps = 9
	for i := 1; i <= steps; i++ {
		part := (1 - math.Cos(math.Pi*float64(i)/steps)) / 2 // slow, fast, slow
		f.now.Pointer = &pointer{X: from.X + (to.X-from.X)*part, Y: from.Y + (to.Y-from.Y)*part}
		f.hold(nil, 60*time.Millisecond)
	}
}

// press presses the button where the pointer is, and lets it go.
func (f *film) press() {
	f.now.Pointer.Pressed = true
	f.hold(nil, 240*time.Millisecond)
	f.now.Pointer.Pressed = false
}

// save develops the frames and makes a GIF of them.
func (f *film) save(name string) {
	dir, err := os.MkdirTemp("", "den-film-")
	f.check(err)
	defer os.RemoveAll(dir) // Best effort: it is among temporary files.
	window := f.open(filmWidth, filmHeight+barHeight+captionHeight, filmScale)
	defer window.close()
	var list strings.Builder
	var lasts time.Duration
	for i, fr := range f.frames {
		path := filepath.Join(dir, fmt.Sprintf("%04d.png", i))
		f.check(os.WriteFile(path, window.develop(fr.shot), 0o600))
		fmt.Fprintf(&list, "file '%s'\nduration %.3f\n", path, fr.lasts.Seconds())
		lasts += fr.lasts
	}
	fmt.Fprintf(&list, "file '%s'\n", filepath.Join(dir, fmt.Sprintf("%04d.png", len(f.frames)-1))) // or the last one would not stand
	f.check(os.WriteFile(filepath.Join(dir, "list"), []byte(list.String()), 0o600))
	// No dithering: it would flicker, and cost most of the size.
	colors := fmt.Sprintf("split[a][b];[a]palettegen=max_colors=%d:reserve_transparent=0[p];[b][p]paletteuse=dither=none:diff_mode=rectangle", filmColors)
	f.run(os.Environ(), "ffmpeg", "-y", "-v", "error", "-f", "concat", "-safe", "0", "-i", filepath.Join(dir, "list"),
		"-lavfi", colors, "-fps_mode", "vfr", filepath.Join(f.out, name))
	fmt.Printf("%s: %d frames, %.1f s\n", name, len(f.frames), lasts.Seconds())
}
