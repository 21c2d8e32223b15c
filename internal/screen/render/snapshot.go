package render

import (
	"fmt"
	"maps"
	"slices"

	"den/internal/screen"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
)

// FromSnapshot is FromTerminal for a screen that came from somewhere else: a
// host's answer, or a replay's.
func FromSnapshot(s *screen.Snapshot, theme *Theme) *Grid {
	return FromSnapshotRedacted(s, theme, nil)
}

// FromSnapshotRedacted is FromSnapshot with all covered that r hides. What it
// knows of a secret is what the snapshot shows.
func FromSnapshotRedacted(s *screen.Snapshot, theme *Theme, r *redact.Redactor) *Grid {
	t := paintedAs(s)
	g := FromTerminal(t, theme)
	g.Redact(t, r)
	images := map[string]*vt.Image{}
	for _, img := range s.Images {
		images[img.ID] = imageOf(&img)
	}
	for y, line := range s.Lines {
		for _, t := range line.Images {
			if img := images[t.Image]; img != nil && y < g.Rows && t.Col >= 0 && t.Col+t.Width <= g.Cols {
				g.putImage(y, t.Col, t.Width, img, tile{int32(t.X), int32(t.Y)})
			}
		}
	}
	return g
}

// imageOf returns an image of a snapshot as the emulator has it.
func imageOf(img *screen.Image) *vt.Image {
	rect := func(v [4]int) vt.Rect { return vt.Rect{X: v[0], Y: v[1], W: v[2], H: v[3]} }
	return &vt.Image{PNG: img.PNG, Width: img.Width, Height: img.Height, Source: rect(img.Source), Box: rect(img.Box), Cols: img.Cols, Rows: img.Rows}
}

// paintedAs returns a terminal that shows the snapshot. The emulator decides
// again which runes make one character: nobody knows better how wide it is.
func paintedAs(s *screen.Snapshot) *vt.Terminal {
	t := vt.New(vt.Config{Cols: s.Cols, Rows: s.Rows})
	b := []byte("\x1b[?7l") // a row's last character must not wrap
	b = fmt.Appendf(b, "\x1b]10;%s\x1b\\\x1b]11;%s\x1b\\", s.Foreground, s.Background)
	for _, i := range slices.Sorted(maps.Keys(s.Palette)) {
		b = fmt.Appendf(b, "\x1b]4;%d;%s\x1b\\", i, s.Palette[i])
	}
	if s.CursorColor != "" {
		b = fmt.Appendf(b, "\x1b]12;%s\x1b\\", s.CursorColor)
	}
	for y, line := range s.Lines {
		if len(line.Runs) == 0 {
			continue
		}
		one := screen.Snapshot{Lines: []screen.Line{line}}
		b = fmt.Appendf(b, "\x1b[%d;1H%s%s%s", y+1, screen.ClusterMode(line.Clusters()), one.ANSI(), line.SizeMode())
	}
	b = fmt.Appendf(b, "\x1b]2;%s\x1b\\\x1b[%d q", s.Title, cursorCode(s.Cursor))
	if !s.Cursor.Visible {
		b = append(b, "\x1b[?25l"...)
	}
	if s.ReverseVideo {
		b = append(b, "\x1b[?5h"...)
	}
	b = fmt.Appendf(b, "\x1b[%d;%dH", s.Cursor.Row+1, s.Cursor.Col+1)
	t.Write(b) // A terminal takes every byte.
	return t
}

// cursorCode is the number of a steady cursor for DECSCUSR.
func cursorCode(c screen.Cursor) int {
	switch c.Shape {
	case vt.CursorUnderline.String():
		return 4
	case vt.CursorBar.String():
		return 6
	}
	return 2
}
