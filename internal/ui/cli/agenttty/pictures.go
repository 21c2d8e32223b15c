package agenttty

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/plainjson"
	"den/internal/screen"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"

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

func snapshot(c *call, s *session.Session) (outcome, error) {
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
		r := textShot{begin, all, v.Hash}
		c.keep(s, begin, v.Hash, r)
		return outcome{result: r, text: all}, nil
	}
	r := structuredShot{shot: begin, IsAltScreen: v.AltScreen, VisibleLines: numbered(visible), ScreenHash: v.Hash}
	if c.bool("include-scrollback") {
		r.ScrollbackLines = numbered(scrollback)
	}
	if c.bool("include-cells") {
		for i, line := range v.Lines {
			r.Cells = append(r.Cells, cellLine{i, gridCells(line)})
		}
	}
	c.keep(s, begin, v.Hash, r)
	return outcome{result: r, text: all}, nil
}

// keep writes the result of a snapshot as an artifact, unless it is there: at one
// event, the same options always give the same.
func (c *call) keep(s *session.Session, of shot, hash string, result any) {
	name := fmt.Sprintf("snapshot-%d-agent-tty-%s", of.CapturedAtSeq, of.Format)
	for _, flag := range []string{"include-scrollback", "include-cells"} {
		if c.bool(flag) {
			name += strings.TrimPrefix(flag, "include")
		}
	}
	path, err := s.Dir.ArtifactPath(name + ".json")
	if err == nil {
		if _, missing := os.Stat(path); missing == nil {
			return
		}
		var raw bytes.Buffer
		if err = plainjson.Encode(&raw, result, "  "); err == nil {
			err = s.Dir.SaveArtifact(path, home.Artifact{Kind: "snapshot", Seq: of.CapturedAtSeq, ScreenHash: hash}, raw.Bytes())
		}
	}
	// The answer is good all the same: a reader need not be able to write.
	if kind := fault.KindOf(err); err != nil && kind != fault.Denied && kind != fault.Storage {
		fmt.Fprintf(c.Stderr, "den: the artifact was not kept: %v\n", err)
	}
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

// themes are den's themes for the original's profiles.
func themes() map[string]string {
	return map[string]string{"reference-dark": "dark", "reference-light": "light"}
}

func profileNames() []string { return []string{"reference-dark", "reference-light"} }

// profile returns the profile and den's theme for it.
func (c *call) profile() (name, theme string, err error) {
	name = cmp.Or(c.str("profile"), c.Getenv("AGENT_TTY_PROFILE"), profileNames()[0])
	theme, ok := themes()[name]
	if !ok {
		return "", "", coded(invalidInput, "no profile %q: there are reference-dark and reference-light", name)
	}
	return name, theme, nil
}

func screenshotFlags(f *pflag.FlagSet) {
	f.Bool("show-cursor", false, "draw the cursor")
	f.Bool("hide-cursor", false, "do not draw the cursor")
}

type pictured struct {
	SessionID         string `json:"sessionId"`
	CapturedAtSeq     uint64 `json:"capturedAtSeq"`
	ProfileName       string `json:"profileName"`
	Cols              int    `json:"cols"`
	Rows              int    `json:"rows"`
	ArtifactPath      string `json:"artifactPath"`
	PNGSizeBytes      int    `json:"pngSizeBytes"`
	CursorVisible     bool   `json:"cursorVisible"`
	RendererBackend   string `json:"rendererBackend"`
	PixelWidth        int    `json:"pixelWidth"`
	PixelHeight       int    `json:"pixelHeight"`
	SHA256            string `json:"sha256"`
	RenderProfileHash string `json:"renderProfileHash"`
}

func screenshot(c *call, s *session.Session) (outcome, error) {
	profile, theme, err := c.profile()
	if err != nil {
		return outcome{}, err
	}
	show := c.bool("show-cursor")
	if show && c.bool("hide-cursor") {
		return outcome{}, coded(invalidInput, "--show-cursor and --hide-cursor exclude each other")
	}
	args := []string{"screenshot", s.Dir.ID, "--theme", theme}
	if show {
		args = append(args, "--cursor")
	}
	var p struct {
		Path, SHA256         string
		Seq                  uint64
		Bytes, Width, Height int
	}
	if err := c.den(&p, args...); err != nil {
		return outcome{}, err
	}
	st, err := s.Status(c.ctx)
	if err != nil {
		return outcome{}, err
	}
	return outcome{result: pictured{
		s.Dir.ID, p.Seq, profile, st.Cols, st.Rows, p.Path, p.Bytes, show, backend, p.Width, p.Height, p.SHA256, digest([]byte(profile)),
	}, text: p.Path}, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func exportFlags(f *pflag.FlagSet) {
	f.String("format", "", "asciicast or webm (required)")
	f.String("out", "", "write to this file")
	f.String("timing", "recorded", "recorded, accelerated or max-speed; of webm")
}

type exported struct {
	SessionID     string         `json:"sessionId"`
	Format        string         `json:"format"`
	ArtifactPath  string         `json:"artifactPath"`
	Bytes         int64          `json:"bytes"`
	SHA256        string         `json:"sha256"`
	CapturedAtSeq uint64         `json:"capturedAtSeq"`
	DurationMS    int64          `json:"durationMs"`
	Metadata      map[string]any `json:"metadata"`
}

// timings are den's words for the original's.
func timings() map[string]string {
	return map[string]string{"recorded": "recorded", "accelerated": "accelerated", "max-speed": "max"}
}

func export(c *call, s *session.Session) (outcome, error) {
	args, err := c.exportArgs(s.Dir.ID)
	if err != nil {
		return outcome{}, err
	}
	var made struct {
		Path       string
		Bytes      int64
		DurationMS int64 `json:"duration_ms"`
	}
	if err := c.den(&made, args...); err != nil {
		return outcome{}, as(fault.Unsupported, exportError, err)
	}
	raw, err := os.ReadFile(made.Path)
	if err != nil {
		return outcome{}, fault.Errorf(fault.Export, "read the recording: %w", err)
	}
	st, err := s.Status(c.ctx)
	if err != nil {
		return outcome{}, err
	}
	return outcome{result: exported{
		s.Dir.ID, c.str("format"), made.Path, made.Bytes, digest(raw), st.Seq, made.DurationMS,
		map[string]any{"format": c.str("format"), "outputPath": made.Path, "width": st.Cols, "height": st.Rows},
	}, text: made.Path}, nil
}

// exportArgs checks the flags and returns den's own words.
func (c *call) exportArgs(id string) ([]string, error) {
	format, ok := map[string]string{"asciicast": "cast2", "webm": "webm"}[c.str("format")]
	if !ok {
		return nil, coded(invalidInput, "--format is asciicast or webm, not %q", c.str("format"))
	}
	timing, ok := timings()[c.str("timing")]
	switch {
	case !ok:
		return nil, coded(invalidInput, "--timing is recorded, accelerated or max-speed, not %q", c.str("timing"))
	case c.given("timing") && format != "webm":
		return nil, coded(invalidInput, "--timing is for webm only")
	}
	_, theme, err := c.profile()
	if err != nil {
		return nil, err
	}
	args := []string{"export", id, "--format", format, "--theme", theme, "--timing", timing}
	out := c.str("out")
	switch {
	case out == "":
		return args, nil
	case format == "webm" && filepath.Ext(out) != ".webm":
		return nil, coded(invalidInput, "--out must end in .webm")
	}
	abs, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	return slices.Concat(args, []string{"-o", abs}), nil
}
