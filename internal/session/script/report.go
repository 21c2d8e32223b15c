package script

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/session/steps"
)

// widest is the most that is shown of a row.
const widest = 80

// SideBySide shows both screens of a difference beside each other: what was
// expected at the left. Rows that differ have a mark.
func SideBySide(diff []steps.DiffRow) string {
	left := utf8.RuneCountInString("expected")
	for _, d := range diff {
		left = max(left, min(utf8.RuneCountInString(d.Want), widest))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "       %-*s   %s\n", left, "expected", "on the screen")
	for _, d := range diff {
		want, got := window(d.Want, d.Got)
		mark, number := " ", fmt.Sprintf("%4d", d.Row)
		if !d.Same {
			mark = "|"
		}
		if d.Style {
			number = "look"
		}
		line := fmt.Sprintf("  %s %s%s %s %s", number, want, strings.Repeat(" ", max(0, left-utf8.RuneCountInString(want))), mark, got)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// window cuts two rows so that the first difference between them is seen.
func window(want, got string) (string, string) {
	w, g := []rune(want), []rune(got)
	if len(w) <= widest && len(g) <= widest {
		return want, got
	}
	from := 0
	for from < min(len(w), len(g)) && w[from] == g[from] {
		from++
	}
	from = max(0, from-widest/2)
	return cut(w, from), cut(g, from)
}

func cut(row []rune, from int) string {
	if from >= len(row) {
		return ""
	}
	row = row[from:]
	if from > 0 {
		row[0] = '…'
	}
	if len(row) > widest {
		row = append(row[:widest-1:widest-1], '…')
	}
	return string(row)
}

// Report is one play of a script, for those who read results.
type Report struct {
	Name      string
	Duration  time.Duration
	Failure   *Failure  // or nil
	Recording string    // or ""
	Pictures  *Pictures // or nil
}

// Pictures are the files that show how a screen looks otherwise.
type Pictures struct {
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Diff     string `json:"diff"` // what differs is red
}

func (p *Pictures) String() string {
	return fmt.Sprintf("expected: %s\nactual: %s\ndiff: %s\n", p.Expected, p.Actual, p.Diff)
}

// WriteJUnit writes reports in the XML that build servers read.
func WriteJUnit(w io.Writer, all []Report) error {
	var b bytes.Buffer
	failures, total := 0, time.Duration(0)
	for _, r := range all {
		total += r.Duration
		if r.Failure != nil {
			failures++
		}
	}
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"den test\" tests=\"%d\" failures=\"%d\" errors=\"0\" time=\"%.3f\">\n",
		len(all), failures, total.Seconds())
	for _, r := range all {
		fmt.Fprintf(&b, "<testcase classname=\"den\" name=\"%s\" time=\"%.3f\"", inXML(r.Name), r.Duration.Seconds())
		if r.Failure == nil {
			b.WriteString("/>\n")
			continue
		}
		text := fmt.Sprintf("line %d: %v\n", r.Failure.Line, r.Failure)
		if len(r.Failure.Diff) > 0 {
			text += SideBySide(r.Failure.Diff)
		}
		if r.Recording != "" {
			text += "recording: " + r.Recording + "\n"
		}
		if r.Pictures != nil {
			text += r.Pictures.String()
		}
		fmt.Fprintf(&b, ">\n<failure message=\"%s\" type=\"%s\">%s</failure>\n</testcase>\n", inXML(r.Failure.Error()), inXML(r.Failure.Kind), inXML(text))
	}
	b.WriteString("</testsuite>\n</testsuites>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// inXML escapes a text. What XML cannot hold is U+FFFD.
func inXML(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return html.EscapeString(s)
}
