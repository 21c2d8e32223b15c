package vt

// Config configures a new Terminal.
type Config struct {
	Cols, Rows int
	Scrollback int    // lines kept above the screen; 0 = none
	Version    string // in XTVERSION replies

	// Defaults for OSC 10, 11 and 12; the zero value means the built-in dark theme.
	Foreground, Background, CursorColor RGB
}

// The largest screen, and the most scrollback. New and Resize clamp to them.
const (
	MaxCols       = 2000
	MaxRows       = 1000
	maxScrollback = 1 << 20
)

// Terminal is an emulated terminal. It is not safe for concurrent use.
type Terminal struct {
	cfg        Config
	cols, rows int
	gen        uint64

	parser  parser
	restore restore

	screen *buffer // the active one: &main or &alt
	main   buffer
	alt    buffer
	hist   history
	anchor anchor
	below  []*line   // rows that resizes pushed under the main screen; or nil
	deep   *deepRows // the oldest rows of the scrollback, while they are to be wrapped anew; or nil

	cur      cursor
	margins  margins
	tabs     tabStops
	modes    modes
	saved    savedModes
	last     lastChar
	sgrStack []savedSGR // or nil
	quick    bool       // text may take the fast path: see updateQuick
	stamp    stamp      // of what is written now
	lostRows uint64

	styles   styleTable
	clusters clusterTable
	colors   colors
	names    names
	outbox   outbox
	images   *images // or nil: the program sent none
}

// New returns a terminal in its power-on state.
func New(cfg Config) *Terminal {
	cfg.Cols, cfg.Rows = clampSize(cfg.Cols, cfg.Rows)
	cfg.Scrollback = min(max(cfg.Scrollback, 0), maxScrollback)
	t := &Terminal{
		cfg:  cfg,
		cols: cfg.Cols, rows: cfg.Rows,
		styles:   newStyleTable(),
		clusters: newClusterTable(),
		colors:   newColors(cfg),
		stamp:    stampOf(0),
	}
	t.hist.max = cfg.Scrollback
	t.main.rows = newLines(t.rows, t.cols)
	t.screen = &t.main
	t.resetState()
	return t
}

func clampSize(cols, rows int) (int, int) {
	return min(max(cols, 1), MaxCols), min(max(rows, 1), MaxRows)
}

// resetState puts everything but the screens' rows and the palette into the
// power-on state.
func (t *Terminal) resetState() {
	t.screen = &t.main
	t.main.saved, t.alt.saved = savedCursor{}, savedCursor{}
	t.main.kitty, t.alt.kitty = kittyStack{}, kittyStack{}
	t.cur = newCursor()
	t.modes = newModes()
	t.saved = savedModes{}
	t.margins = margins{bottom: t.rows - 1, right: t.cols - 1}
	t.tabs.reset()
	t.sgrStack = nil
	t.forgetLast()
	t.updateQuick()
}

// Size returns the number of columns and rows.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Generation is a number that changes whenever anything visible may have
// changed: cells, cursor, modes, title, size.
func (t *Terminal) Generation() uint64 { return t.gen }

// ClearScrollback forgets the rows above the screen. Unlike ED 3 it works on
// the alternate screen too, and in the middle of a sequence.
func (t *Terminal) ClearScrollback() {
	t.wrapDeep()
	t.hist.clear()
	t.anchor = anchor{}
}

// ScrollbackLen is the number of rows kept above the screen.
func (t *Terminal) ScrollbackLen() int {
	t.wrapDeep()
	return t.hist.len()
}

// FirstLine is the absolute number of the oldest kept row. Absolute numbers
// count the rows that ever stood on the main screen, from 0, so they stay
// meaningful as it scrolls. A resize that rewraps text renumbers the rows
// after the first that it rewrapped.
func (t *Terminal) FirstLine() int64 {
	t.wrapDeep()
	return t.hist.first
}

// ScreenLine is the absolute number of the top row of the screen.
func (t *Terminal) ScreenLine() int64 {
	t.wrapDeep()
	return t.hist.first + int64(t.hist.len())
}

// altActive reports whether the alternate screen is shown.
func (t *Terminal) altActive() bool { return t.screen == &t.alt }

// row returns row y of the active screen.
func (t *Terminal) row(y int) *line { return t.screen.rows[y] }
