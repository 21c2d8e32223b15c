package tui

import (
	"fmt"
	"strings"

	"den/internal/ui/dashboard"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	asideMin, asideMax = 28, 60
	oneAtATime         = 64 // columns below which list and screen do not stand side by side
)

// asideWidth is what is free beside a screen, if that is enough for its cells.
func (u *ui) asideWidth(width int) int {
	f := u.frame()
	if f == nil || u.line == nil || u.viewport.small {
		return 0
	}
	free := width - f.Screen.Cols - 1
	if free < asideMin {
		return 0
	}
	return min(free, asideMax)
}

// drawAside is what the session did: its cells, the newest at the bottom, and
// where it runs.
func (u *ui) drawAside(width, height int) []string {
	lines := []string{fit(faint.Render(" in "+tail(plain(tilde(u.session.Cwd)), max(1, width-4))), width)}
	cells := u.line.Cells
	room := max(0, height-len(lines)-1)
	shown := cells[max(0, len(cells)-room):]
	head := fmt.Sprintf(" %d cells", len(cells))
	if len(cells) == 1 {
		head = " 1 cell"
	}
	lines = append(lines, fit(strong.Render(head), width))
	for i := range shown {
		lines = append(lines, u.drawCell(&shown[i], width))
	}
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines[:height]
}

func (u *ui) drawCell(c *dashboard.CellSpan, width int) string {
	code, _, _ := strings.Cut(strings.TrimSpace(c.Code), "\n")
	right := " " + clock(c.Took) + " "
	mark, style := "●", good
	switch {
	case c.End.Seq == 0 && c.WaitingFor != "":
		mark, style = "?", warn
	case c.End.Seq == 0:
		mark, style = "◌", warn
	case c.ExitCode != nil && *c.ExitCode != 0 || c.Status == "error":
		mark, style = "✗", bad
	}
	name := lipgloss.NewStyle()
	if u.past != nil && c.Start.Elapsed > u.past.at.Elapsed {
		name = faint // it is yet to come
	}
	left := " " + style.Render(mark) + " " + name.Render(plain(code))
	return ends(left, faint.Render(right), width)
}

// beside puts the aside behind each line of a screen.
func beside(lines, aside []string, width int) []string {
	rule := faint.Render("│")
	for i := range aside {
		text := ""
		if i < len(lines) {
			text = ansi.Truncate(lines[i], width, "")
		}
		aside[i] = fit(text, width) + rule + aside[i]
	}
	return aside
}
