package tui

import "den/internal/screen"

// viewport is the part of a screen that is shown, and how. A session is never
// reflowed: what does not fit is cut off, or the whole screen is drawn small.
type viewport struct {
	small  bool
	follow bool // the view goes where the cursor is
	top    int  // the first row and column in view
	left   int
}

const (
	panCols = 8
	panRows = 4
)

func (l *viewport) reset() { l.follow, l.top, l.left = true, 0, 0 }

// key pans.
func (l *viewport) key(name string) {
	switch name {
	case "z":
		l.small = !l.small
		return
	case "0":
		l.reset()
		return
	case "H", "alt+left":
		l.left -= panCols
	case "L", "alt+right":
		l.left += panCols
	case "K", "alt+up", "shift+up":
		l.top -= panRows
	case "J", "alt+down", "shift+down":
		l.top += panRows
	default:
		return
	}
	l.follow = false
}

// place keeps the view within the screen, and the cursor within the view.
func (l *viewport) place(s *screen.Snapshot, width, height int) {
	if l.follow {
		l.top, l.left = l.followed(s, width, height)
	}
	l.top = max(0, min(l.top, s.Rows-height))
	l.left = max(0, min(l.left, s.Cols-width))
}

// followed is where the view goes by itself: where text is added. A program
// that hides the cursor draws the whole screen, and its top tells most.
func (l *viewport) followed(s *screen.Snapshot, width, height int) (top, left int) {
	c, last := s.Cursor, lastRow(s)
	if !c.Visible || last < height {
		return 0, 0
	}
	if s.AltScreen {
		top = max(0, c.Row-height+1)
	} else {
		top = max(min(last-height+1, c.Row), c.Row-height+1)
	}
	if c.Col >= width {
		left = c.Col - width + 1 + min(panCols, s.Cols-1-c.Col)
	}
	return top, left
}

// lastRow is the last row that shows anything, the cursor included.
func lastRow(s *screen.Snapshot) int {
	last := 0
	for i, l := range s.Lines {
		if len(l.Runs) > 0 {
			last = i
		}
	}
	if s.Cursor.Visible {
		last = max(last, s.Cursor.Row)
	}
	return last
}

// where says which part is in view, or that all is.
func (l *viewport) where(s *screen.Snapshot, width, height int) (cols, rows string) {
	if s.Cols > width {
		cols = span(l.left, width, s.Cols)
	}
	if s.Rows > height {
		rows = span(l.top, height, s.Rows)
	}
	return cols, rows
}
