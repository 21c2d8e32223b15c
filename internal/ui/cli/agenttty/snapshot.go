package agenttty

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session"

	"github.com/spf13/pflag"
)

func snapshotFlags(f *pflag.FlagSet) {
	f.String("format", "structured", "structured or text")
	f.Bool("include-scrollback", false, "also the lines above the screen")
	f.Bool("include-cells", false, "also the cells and their styles")
}

// shot is what both formats begin with.
type shot struct {
	Format        string `json:"format"`
	SessionID     string `json:"sessionId"`
	CapturedAtSeq uint64 `json:"capturedAtSeq"`
	Cols          int    `json:"cols"`
	Rows          int    `json:"rows"`
	CursorRow     int    `json:"cursorRow"`
	CursorCol     int    `json:"cursorCol"`
}

type textShot struct {
	shot
	Text       string `json:"text"`
	ScreenHash string `json:"screenHash"`
}

type structuredShot struct {
	shot
	IsAltScreen     bool       `json:"isAltScreen"`
	VisibleLines    []lineText `json:"visibleLines"`
	ScrollbackLines []lineText `json:"scrollbackLines,omitzero"`
	Cells           []cellLine `json:"cells,omitempty"`
	ScreenHash      string     `json:"screenHash"`
}

type lineText struct {
	Row  int    `json:"row"`
	Text string `json:"text"`
}

type cellLine struct {
	LineNumber int        `json:"lineNumber"`
	Cells      []gridCell `json:"cells"`
}

type gridCell struct {
	Char          string `json:"char"`
	FG            string `json:"fg,omitempty"`
	BG            string `json:"bg,omitempty"`
	Bold          bool   `json:"bold,omitempty"`
	Italic        bool   `json:"italic,omitempty"`
	Underline     bool   `json:"underline,omitempty"`
	Strikethrough bool   `json:"strikethrough,omitempty"`
}

func snapshot(c *call) (outcome, error) {
	s, err := c.session()
	if err != nil {
		return outcome{}, err
	}
	format := c.str("format")
	if format != "structured" && format != "text" {
		return outcome{}, coded(invalidInput, "--format is structured or text, not %q", format)
	}
	above := 0
	if c.bool("include-scrollback") {
		above = -1
	}
	taken, err := s.Snapshot(c.ctx, session.Now(), above)
	if err != nil {
		return outcome{}, as(fault.Storage, replayError, err)
	}
	v := &taken.Screen
	visible, scrollback := rowTexts(v.Lines, v.Rows), rowTexts(v.Scrollback, len(v.Scrollback))
	begin := shot{format, s.Dir.ID, taken.Seq, v.Cols, v.Rows, v.Cursor.Row, v.Cursor.Col}
	all := strings.Join(slices.Concat(scrollback, visible), "\n")
	if format == "text" {
		return outcome{result: textShot{begin, all, hash(visible)}, text: all}, nil
	}
	r := structuredShot{shot: begin, IsAltScreen: v.AltScreen, VisibleLines: numbered(visible), ScreenHash: hash(visible)}
	if c.bool("include-scrollback") {
		r.ScrollbackLines = numbered(scrollback)
	}
	if c.bool("include-cells") {
		for i, line := range v.Lines {
			r.Cells = append(r.Cells, cellLine{i, gridCells(line)})
		}
	}
	return outcome{result: r, text: all}, nil
}

// hash is the digest of the canonical screen, as the original computes it.
func hash(visible []string) string {
	sum := sha256.Sum256([]byte(strings.Join(visible, "\n")))
	return hex.EncodeToString(sum[:])
}

func numbered(texts []string) []lineText {
	lines := []lineText{}
	for i, text := range texts {
		lines = append(lines, lineText{i, text})
	}
	return lines
}

// rowTexts returns the text of each row without trailing blanks: n of them.
func rowTexts(lines []screen.Line, n int) []string {
	texts := make([]string, n)
	for i := range min(n, len(lines)) {
		var b strings.Builder
		at := 0
		for _, r := range lines[i].Runs {
			b.WriteString(strings.Repeat(" ", max(r.Col-at, 0)))
			b.WriteString(r.Text)
			at = r.Col + r.Width
		}
		texts[i] = strings.TrimRight(b.String(), " ")
	}
	return texts
}

// gridCells returns one cell for each column; behind a wide character stands an
// empty one.
func gridCells(line screen.Line) []gridCell {
	cells := []gridCell{}
	for _, r := range line.Runs {
		for len(cells) < r.Col {
			cells = append(cells, gridCell{Char: " "})
		}
		look := gridCell{FG: r.FG, BG: r.BG, Bold: r.Bold, Italic: r.Italic, Underline: r.Underline != "", Strikethrough: r.Strike}
		for _, char := range characters(r.Text, r.Clusters()) {
			look.Char = char
			cells = append(cells, look)
			for range vt.TextWidth(char, r.Clusters()) - 1 {
				look.Char = ""
				cells = append(cells, look)
			}
		}
	}
	return cells
}

// characters splits text into what stands in cells of its own: runes, and the
// runes that combine with them.
func characters(text string, clusters bool) []string {
	var chars []string
	for _, r := range text {
		char := string(r)
		if n := len(chars); n > 0 && vt.TextWidth(chars[n-1]+char, clusters) == vt.TextWidth(chars[n-1], clusters) {
			chars[n-1] += char
			continue
		}
		chars = append(chars, char)
	}
	return chars
}
