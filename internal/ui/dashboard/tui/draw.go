package tui

import (
	"fmt"
	"strings"

	"den/internal/session/attention"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	minWidth, minHeight = 40, 8
	listMin, listMax    = 24, 60
)

// View is bubbletea's.
func (u *ui) View() tea.View {
	v := tea.NewView(u.draw())
	v.AltScreen = true
	v.WindowTitle = "den dashboard"
	return v
}

// draw returns the whole screen: lines of exactly its width.
func (u *ui) draw() string {
	switch {
	case u.width == 0:
		return "" // its size has not come yet
	case u.width < minWidth || u.height < minHeight:
		return fit(u.tooSmall(), u.width)
	case u.help:
		return strings.Join(u.drawHelp(), "\n")
	case u.answer.open:
		return strings.Join(u.drawWithAnswer(), "\n")
	}
	lines := append(make([]string, 0, u.height), u.drawHeader())
	switch {
	case u.homes.open:
		lines = append(lines, u.drawHomes(u.width, u.height-2)...)
	case u.agents.open:
		lines = append(lines, u.drawAgents(u.width, u.height-2)...)
	case u.sleepers.open:
		lines = append(lines, u.drawNights(u.width, u.height-2)...)
	default:
		lines = append(lines, u.drawBody(u.height-4)...)
		lines = append(lines, u.drawActivity(), u.drawTrack())
	}
	return strings.Join(append(lines, u.drawFooter()), "\n")
}

// tooSmall says what the dashboard needs, in as many words as there is room for.
func (u *ui) tooSmall() string {
	for _, text := range []string{"den dashboard needs %dx%d, this is %dx%d", "it needs %dx%d, this is %dx%d", "%dx%d, not %dx%d"} {
		if text = fmt.Sprintf(text, minWidth, minHeight, u.width, u.height); len(text) <= u.width {
			return text
		}
	}
	return fmt.Sprintf("%dx%d", minWidth, minHeight)
}

// drawWithAnswer has the panel at the bottom, with as much room as it needs, and
// above it what fits of the rest.
func (u *ui) drawWithAnswer() []string {
	panel := u.drawAnswer(u.width, u.height-1)
	above := u.height - 1 - len(panel)
	lines := []string{u.drawHeader()}
	if above > 0 && u.agents.open {
		lines = append(lines, u.drawAgents(u.width, above)...)
	} else if above > 0 {
		lines = append(lines, u.drawBody(above)...)
	}
	return append(lines, panel...)
}

func (u *ui) drawHeader() string {
	left := " den dashboard"
	if u.list != nil {
		active, all := 0, 0
		for i := range u.list.Homes {
			active += u.list.Homes[i].Active
			all += len(u.list.Homes[i].Sessions)
		}
		left += fmt.Sprintf("  %d active of %d", active, all)
		if words := u.summary(); words != "" {
			left += ": " + words
		}
		if n := len(u.list.Homes); n > 1 {
			left += fmt.Sprintf(" in %d Homes", n)
		}
		if u.homes.shown != "" {
			left += " in " + tilde(plain(u.homes.shown))
		}
		if u.list.Problem != "" {
			left += "  " + plain(u.list.Problem)
		}
	}
	left += u.agents.summary()
	scope := "active"
	if u.all {
		scope = "all"
	}
	if u.filter != "" {
		scope += ", filter: " + u.filter
	}
	return bar.Render(ends(left, u.waitingCount()+scope+" ", u.width))
}

// drawBody is the list and the view side by side, or the view alone.
func (u *ui) drawBody(height int) []string {
	if u.wide {
		return u.drawPane(u.width, height)
	}
	if u.width < oneAtATime { // side by side neither could be read
		return u.drawList(u.width, height)
	}
	width := max(listMin, min(listMax, u.width*3/10))
	list := u.drawList(width, height)
	pane := u.drawPane(u.width-width-1, height)
	rule := faint.Render("│")
	for i := range list {
		list[i] += rule + pane[i]
	}
	return list
}

// drawPane is the selected session: a title and its screen.
func (u *ui) drawPane(width, height int) []string {
	lines := []string{u.drawTitle(width, height-1)}
	if f := u.frame(); f != nil {
		aside := u.asideWidth(width)
		screen := u.drawScreen(f, width-aside, height-1)
		if aside > 0 {
			screen = beside(screen, u.drawAside(aside-1, height-1), width-aside)
		}
		lines = append(lines, screen...)
	} else if u.session != nil {
		word := "reading …"
		if u.problem != "" {
			word = plain(u.problem)
		}
		lines = append(lines, fit(" "+faint.Render(word), width))
	}
	return fill(lines, width, height)
}

func (u *ui) drawTitle(width, height int) string {
	if u.session == nil {
		return strings.Repeat(" ", width)
	}
	s := u.session
	mark, style := sign(s)
	left := style.Render(mark) + " " + strong.Render(plain(u.nameOf(s))) + " " + statusText(s)
	if s.Failure != "" {
		left += ": " + plain(s.Failure)
	}
	if x := u.agents.of(s); x != nil && (x.Actual != x.Wanted || string(s.Status) != x.Actual) {
		left += warn.Render("  " + plain(fmt.Sprintf("agent, wanted %s, %s: %s", x.Wanted, x.Actual, x.Why)))
	} else if x != nil {
		left += faint.Render("  agent")
	}
	if x := u.agents.of(s); x != nil && approvalWords[x.Approval] != "" {
		left += warn.Render("  " + approvalWords[x.Approval])
	}
	left += faint.Render("  " + plain(strings.Join(s.Command, " ")))
	return ends(left, u.drawPlace(width, height), width)
}

// drawPlace says what of the session is seen: when, which part, which size.
func (u *ui) drawPlace(width, height int) string {
	f := u.frame()
	if f == nil {
		return ""
	}
	right := fmt.Sprintf(" %dx%d", f.Screen.Cols, f.Screen.Rows)
	if u.viewport.small {
		right += " small"
	} else {
		u.viewport.place(f.Screen, width, height)
		if cols, rows := u.viewport.where(f.Screen, width, height); cols+rows != "" {
			right += " " + strings.Trim(cols+" "+rows, " ")
		}
	}
	right = faint.Render(right + " ")
	if u.past != nil {
		when := clock(u.past.at.Elapsed)
		if u.line != nil {
			when = u.line.Start.Add(u.past.at.Elapsed).Local().Format("15:04:05.0")
		}
		right += inPast.Render(" past " + when + " ")
	}
	return right
}

// span says which part of a whole is in view.
func span(from, length, whole int) string { return fmt.Sprintf("%d-%d/%d", from+1, from+length, whole) }

func (u *ui) drawScreen(f *dashboard.Frame, width, height int) []string {
	s := f.Screen
	if u.viewport.small && (s.Cols > width || s.Rows > height) {
		lines := drawSmall(s, width, height)
		for i := range lines {
			lines[i] = fit(lines[i], width)
		}
		return lines
	}
	u.viewport.place(s, width, height)
	var lines []string
	for y := u.viewport.top; y < len(s.Lines) && len(lines) < height; y++ {
		cursor := -1
		if s.Cursor.Visible && s.Cursor.Row == y && f.Exit == "" {
			cursor = s.Cursor.Col
		}
		lines = append(lines, drawCells(s.Lines[y], s.Cols, u.viewport.left, width, cursor))
	}
	return lines
}

func (u *ui) drawFooter() string {
	if u.filtering {
		return fit(accent.Render(" / ")+u.filter+bar.Render(" ")+faint.Render("  Enter: keep  Esc: all again"), u.width)
	}
	if u.homes.open {
		return u.homesFooter()
	}
	if u.agents.open {
		return u.agentsFooter()
	}
	if u.sleepers.open {
		return u.nightsFooter()
	}
	left := " " + u.moment()
	if u.problem != "" {
		left = " " + bad.Render(plain(u.problem))
	} else if w := u.waitingHere(); w != nil {
		left = " " + warn.Render("! "+waitText(w, u.now()))
	} else if s := u.session; s != nil && u.past == nil && s.Attention.State == attention.Asking {
		left = " " + warn.Render("! asks: "+plain(s.Attention.What))
	} else if f := u.frame(); f != nil && len(f.Missing) > 0 {
		left = " " + warn.Render(plain(f.Missing[len(f.Missing)-1]))
	}
	hints := " ↑↓ session  ←→ time  / filter  ? help  q quit "
	if u.agents.there() {
		hints = " ↑↓ session  ←→ time  w agents  / filter  ? help  q quit "
	}
	if u.sleepers.there() {
		hints = strings.Replace(hints, "  / filter", "  t ticks  / filter", 1)
	}
	if u.waitingHere() != nil {
		hints = " n next  w agents  ? help  q quit " // what waits needs the room
	}
	if u.decides != nil && u.askHere() != nil {
		hints = " y answer  n next  ? help  q quit "
	}
	if u.past != nil {
		hints = " ←→ step  ,. skip  [] cells  Esc live  ? help "
	}
	return ends(left, faint.Render(hints), u.width)
}

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
	return fill(lines, width, height)
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
