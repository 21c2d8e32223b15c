package agenttty

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"den/internal/base/fault"

	"github.com/spf13/pflag"
)

// themes are den's themes for the original's profiles.
var themes = map[string]string{"reference-dark": "dark", "reference-light": "light"}

func profileNames() []string { return []string{"reference-dark", "reference-light"} }

// profile returns the profile and den's theme for it.
func (c *call) profile() (name, theme string, err error) {
	name = c.str("profile")
	if name == "" {
		name = c.Getenv("AGENT_TTY_PROFILE")
	}
	if name == "" {
		name = profileNames()[0]
	}
	theme, ok := themes[name]
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

func screenshot(c *call) (outcome, error) {
	s, err := c.session()
	if err != nil {
		return outcome{}, err
	}
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
var timings = map[string]string{"recorded": "recorded", "accelerated": "accelerated", "max-speed": "max"}

func export(c *call) (outcome, error) {
	s, err := c.session()
	if err != nil {
		return outcome{}, err
	}
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
		return outcome{}, err
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
	timing, ok := timings[c.str("timing")]
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
