package render

import (
	"fmt"
	"maps"
	"slices"

	"den/internal/screen"
	"den/internal/vt"
)

// FromSnapshot is FromTerminal for a screen that came from somewhere else: a
// host's answer, or a replay's.
func FromSnapshot(s *screen.Snapshot, theme *Theme) *Grid {
	return FromTerminal(paintedAs(s), theme)
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
