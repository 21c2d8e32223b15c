package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/base/plainjson"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// duration is a flag in Go's form ("500ms") or in bare seconds ("30", "0.5").
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }

func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		secs, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || !(secs <= 1e9) {
			return fmt.Errorf("'%s' is not a duration such as 500ms, 30s or 30", s)
		}
		v = time.Duration(secs * float64(time.Second))
	}
	if v < 0 {
		return fmt.Errorf("'%s' is negative", s)
	}
	*d = duration(v)
	return nil
}

// days is a duration that may also be in days: "30d".
type days duration

func (d *days) String() string { return (*duration)(d).String() }
func (d *days) Type() string   { return "duration" }

func (d *days) Set(s string) error {
	var err error
	if number, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(number, 64); err == nil && n >= 0 && n <= 36500 {
			*d = days(n * 24 * float64(time.Hour))
			return nil
		}
	} else if err = (*duration)(d).Set(s); err == nil {
		return nil
	}
	return fmt.Errorf("'%s' is not a number of days, hours, minutes or seconds such as 30d, 12h, 90m or 45s", s)
}

var byteUnits = []struct {
	suffix string
	size   int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1},
}

// parseBytes reads sizes such as 256MiB, 1.5GB or 4096.
func parseBytes(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range byteUnits {
		if rest, ok := cutSuffixFold(s, u.suffix); ok {
			number, unit = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || v*float64(unit) > 1<<60 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not a size such as 256MiB", s)
	}
	return int64(v * float64(unit)), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// formatBytes is for people.
func formatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// parseMoment reads --at and --seq.
func parseMoment(o snapshotOptions, m *home.Manifest, now time.Time, bySeq bool) (session.Moment, error) {
	if bySeq {
		if o.seq == 0 {
			return session.Moment{}, fault.Errorf(fault.Usage, "--seq: events are numbered from 1")
		}
		return session.AtSeq(o.seq), nil
	}
	if o.at == "" {
		return session.Now(), nil
	}
	since, err := parseAt(o.at, m.Created, now)
	if err != nil {
		return session.Moment{}, err
	}
	if since < 0 {
		return session.Moment{}, fault.Errorf(fault.Usage, "--at %s is before the session's start at %s", o.at, m.Created.Local().Format(time.DateTime))
	}
	return session.At(since), nil
}

// parseAt returns the time since the session's start.
func parseAt(at string, created, now time.Time) (time.Duration, error) {
	if ago, ok := strings.CutPrefix(at, "-"); ok {
		var d duration
		if err := d.Set(ago); err != nil {
			return 0, fault.Errorf(fault.Usage, "--at: %w", err)
		}
		return now.Add(-time.Duration(d)).Sub(created), nil
	}
	var d duration
	if d.Set(at) == nil {
		return time.Duration(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.TimeOnly, "15:04"} {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day: the last such moment
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
		}
		return t.Sub(created), nil
	}
	return 0, fault.Errorf(fault.Usage, "--at: '%s' is not a time such as 14:03:22, 2026-01-31T14:03:22Z, 90s or -10s", at)
}

// style is how a piece of text looks, as the parameters of SGR. Only the
// terminal's own sixteen colours are used, so that it suits every theme.
type style string

const (
	unstyled style = ""
	strong   style = "1"
	faint    style = "2"
	bad      style = "31"
	good     style = "32"
	warning  style = "33"
	odd      style = "35"
	working  style = "36"
)

// span is a piece of text of one style.
type span struct {
	text  string
	style style
}

// sheet prints text for people, in colour where that is wanted. What others
// supplied is in the text of spans only.
type sheet struct {
	to     io.Writer
	colour bool
}

// sheet returns where a verb prints its text. In colour it is not a.text, which
// would show den's own sequences too.
func (a *app) sheet() sheet {
	if a.wantsColour() {
		return sheet{a.stdout, true}
	}
	return sheet{a.text, false}
}

// colorFlag adds --color to a verb that prints in colour.
func (a *app) colorFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.color, "color", "auto", "print in colour: auto (on a terminal, unless NO_COLOR is set), always or never")
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch a.color {
		case "auto", "always", "never":
			return check(cmd, args)
		}
		return fault.Errorf(fault.Usage, "--color is auto, always or never, not '%s'", a.color)
	}
	return cmd
}

// wantsColour follows https://no-color.org, and knows terminals without colours.
func (a *app) wantsColour() bool {
	switch a.color {
	case "always":
		return true
	case "", "auto":
		term := a.getenv("TERM")
		return a.getenv("NO_COLOR") == "" && term != "" && term != "dumb" && terminalOf(a.stdout) != nil
	}
	return false
}

// paint returns a span as it is printed. In colour it holds no control
// characters but den's own, wherever it goes.
func (s sheet) paint(p span) string {
	if !s.colour {
		return p.text
	}
	text := plainText(p.text)
	if p.style == unstyled || text == "" {
		return text
	}
	return "\x1b[" + string(p.style) + "m" + text + "\x1b[0m"
}

// line prints spans on a line.
func (s sheet) line(spans ...span) {
	for _, p := range spans {
		io.WriteString(s.to, s.paint(p)) // to stdout: as good as Fprint
	}
	fmt.Fprintln(s.to)
}

// tableGap is between two columns.
const tableGap = 2

// table prints rows with aligned columns.
func (s sheet) table(rows [][]span) {
	var widths []int
	for _, row := range rows {
		for i, p := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], s.width(p))
		}
	}
	for _, row := range rows {
		var padded []span
		for i, p := range row {
			padded = append(padded, p)
			if i < len(row)-1 {
				padded = append(padded, span{text: strings.Repeat(" ", widths[i]-s.width(p)+tableGap)})
			}
		}
		s.line(padded...)
	}
}

// width returns how many columns a span takes.
func (s sheet) width(p span) int {
	if s.colour {
		return vt.TextWidth(plainText(p.text), false)
	}
	return vt.TextWidth(p.text, false)
}

// header returns the first row of a table.
func header(names ...string) []span {
	var row []span
	for _, name := range names {
		row = append(row, span{name, faint})
	}
	return row
}

// plain returns a writer for text that files, hosts and keepers supplied. If w
// is a terminal, control characters are shown instead of sent: a name, a status
// or an error of somebody else must not drive the reader's terminal. Programs
// that read the output get the bytes as they are.
func plain(w io.Writer) io.Writer {
	if terminalOf(w) == nil {
		return w
	}
	return &plainWriter{to: w}
}

// terminalOf returns the terminal behind a writer, or nil.
func terminalOf(w io.Writer) *os.File {
	if p, ok := w.(*plainWriter); ok {
		w = p.to
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// plainWriter shows control characters but for newlines and tabs: those below
// 32 as ^X, the others as \u0085. Characters that change the direction of the
// text around them are shown too: with them a terminal can display a path or a
// command in another order than it has. It is for one goroutine.
type plainWriter struct {
	to   io.Writer
	rest []byte // the beginning of a character that the next Write completes
}

// Write never keeps more than a part of one character.
func (p *plainWriter) Write(text []byte) (int, error) {
	in := append(p.rest, text...)
	var out []byte
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		in = in[size:]
		out = plainjson.AppendText(out, r)
	}
	p.rest = in
	if _, err := p.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// plainText is text as a plainWriter shows it.
func plainText(text string) string {
	var out []byte
	for _, r := range text {
		out = plainjson.AppendText(out, r)
	}
	return string(out)
}
