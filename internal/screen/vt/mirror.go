package vt

// Mirror shows a terminal's screen on a player: another terminal, which gets
// nothing but what the Mirror writes. Each frame is written as the difference
// from what the player shows, in standard sequences. Because no byte of the
// program is passed on, cells that are covered never reach the player.
//
// The player's screen is not remembered but emulated: the Mirror feeds what it
// writes to a terminal of its own, and compares the next frame with that one.
type Mirror struct {
	player *Terminal
	next   int64 // the first row that the player does not have above its screen, in the source's numbers
	begun  bool
	redraw bool // draw every row, whatever the player is believed to show

	// For the frame at hand.
	source *Terminal
	cover  Cover
	d      dumper
	out    []byte
	want   line // the row at hand, covered
}

// Cover says what a Mirror must not show.
type Cover struct {
	Cells func(row int) []bool    // which columns of a row to cover, or nil for none; rows as for [Terminal.Row]
	Link  func(l, id string) bool // reports whether a hyperlink must be left out
	Mask  rune                    // stands in each covered cell; one column wide
	Title string                  // the window title to show
}

// NewMirror returns a Mirror for a player in its power-on state.
func NewMirror(cfg Config) *Mirror { return &Mirror{player: New(cfg)} }

// Resize follows a resize of the source, which the player is told by other
// means. A frame must have been written right before it.
func (m *Mirror) Resize(source *Terminal) {
	m.player.Resize(source.Size())
	m.next = source.ScreenLine()
	m.redraw = true // players rewrap rows each in their own way
}

// Frame appends what makes the player show the screen of source, with the rows
// that left it since the last frame above it. It appends nothing if the player
// shows that already.
func (m *Mirror) Frame(dst []byte, source *Terminal, c Cover) []byte {
	m.source, m.cover, m.out = source, c, dst
	m.d = dumper{t: source, b: m.d.b[:0], dropLink: m.dropLink}
	if !m.begun {
		m.begun, m.next = true, source.FirstLine()
	}
	m.modes()
	m.colors()
	m.scrolledOff()
	m.switchScreen(source.altActive())
	for y := range source.rows {
		m.row(y, y)
	}
	m.redraw = false
	m.title()
	m.cursor()
	out := m.out
	m.source, m.cover, m.out = nil, Cover{}, nil
	return out
}

// flush writes what was drawn to the player.
func (m *Mirror) flush() {
	m.out = append(m.out, m.d.b...)
	m.player.Write(m.d.b) // A terminal takes every byte.
	m.d.b = m.d.b[:0]
}

func (m *Mirror) dropLink(n uint32) bool {
	l := m.source.styles.link(n)
	return m.cover.Link != nil && m.cover.Link(l.uri, l.id)
}

// scrolledOff draws the rows that left the screen at its top since the last
// frame, as they are now, and scrolls them off the player.
func (m *Mirror) scrolledOff() {
	s := m.source
	if !s.altActive() {
		m.switchScreen(false)
	}
	// Above an alternate screen nothing can be cleared; it waits.
	if s.ScrollbackLen() == 0 && m.player.ScrollbackLen() > 0 && !m.player.altActive() {
		m.d.add("\x1b[3J")
		m.flush()
	}
	top := s.ScreenLine()
	if m.next > top {
		m.next = top // a reset: rows are counted anew
	}
	m.next = max(m.next, s.FirstLine())
	if m.next < top {
		m.switchScreen(false)
	}
	for m.next < top {
		// One row stays, for the last of the others to wrap to.
		n := int(min(top-m.next, int64(max(s.rows-1, 1))))
		for y := range n {
			m.row(y, int(m.next-top)+y)
		}
		m.moveTo(s.rows-1, 0)
		for range n {
			m.d.add("\n")
		}
		m.flush()
		m.next += int64(n)
	}
}

// switchScreen shows the main or the alternate screen.
func (m *Mirror) switchScreen(alt bool) {
	if m.player.altActive() != alt {
		m.d.addf("\x1b[?1049%c", hl(alt))
		m.flush()
	}
}

// modes sets what the dumper's characters need and what is seen of the modes.
func (m *Mirror) modes() {
	if !m.player.modes.has(modeClusters) {
		m.d.add("\x1b[?2027h")
	}
	if on := m.source.modes.has(modeReverseVideo); m.player.modes.has(modeReverseVideo) != on {
		m.d.addf("\x1b[?5%c", hl(on))
	}
	m.flush()
}

// colors sets the colours that the program changed, and resets those that it
// no longer changes.
func (m *Mirror) colors() {
	want, have := &m.source.colors, &m.player.colors
	for i := range want.palette {
		if want.palette[i] != have.entry(i) {
			m.d.addf("\x1b]4;%d;%s\x1b\\", i, want.palette[i].spec())
		}
	}
	for i := range have.palette {
		if _, ok := want.palette[i]; !ok {
			m.d.addf("\x1b]104;%d\x1b\\", i)
		}
	}
	m.dynamicColor(10, want.fg, want.defaultFg, have.fg)
	m.dynamicColor(11, want.bg, want.defaultBg, have.bg)
	m.dynamicColor(12, want.cursor, want.defaultCursor, have.cursor)
	m.flush()
}

func (m *Mirror) dynamicColor(number int, want, byDefault, have RGB) {
	switch want {
	case have:
	case byDefault:
		m.d.addf("\x1b]%d\x1b\\", 100+number)
	default:
		m.d.addf("\x1b]%d;%s\x1b\\", number, want.spec())
	}
}

func (m *Mirror) title() {
	if title := cleanText([]byte(m.cover.Title), maxTitle); title != m.player.Title() {
		m.d.addf("\x1b]2;%s\x1b\\", title)
		m.flush()
	}
}

// cursor puts the player's cursor in its place and makes it look right. The
// pen is left plain, as the next frame expects it.
func (m *Mirror) cursor() {
	if m.d.pen != (pen{}) {
		m.d.setPen(pen{})
		m.flush()
	}
	want, have := m.source.Cursor(), m.player.Cursor()
	if want.Row != have.Row || want.Col != have.Col {
		m.d.addf("\x1b[%d;%dH", want.Row+1, want.Col+1)
	}
	if want.Shape != have.Shape || want.Blink != have.Blink {
		m.d.addf("\x1b[%d q", m.source.cursorStyle())
	}
	if want.Visible != have.Visible {
		m.d.addf("\x1b[?25%c", hl(want.Visible))
	}
	m.flush()
}
