package cli

import (
	"fmt"
	"io"
	"strings"

	"den/internal/base/fault"
	"den/internal/screen/vt"

	"github.com/spf13/cobra"
)

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
