package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"den/internal/session/home"
	"den/internal/ui/dashboard"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The interface uses the terminal's own sixteen colours, so it suits light and
// dark themes alike; only sessions bring colours of their own.
var (
	faint    = lipgloss.NewStyle().Faint(true)
	strong   = lipgloss.NewStyle().Bold(true)
	bar      = lipgloss.NewStyle().Reverse(true)
	selected = lipgloss.NewStyle().Reverse(true)
	good     = lipgloss.NewStyle().Foreground(lipgloss.Green)
	warn     = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad      = lipgloss.NewStyle().Foreground(lipgloss.Red)
	odd      = lipgloss.NewStyle().Foreground(lipgloss.Magenta)
	accent   = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	present  = accent.Bold(true)
	inPast   = lipgloss.NewStyle().Foreground(lipgloss.Black).Background(lipgloss.Yellow)
)

// sign is how a session's status looks: a character that tells without colour,
// and a colour.
func sign(s *dashboard.Session) (string, lipgloss.Style) {
	switch {
	case s.Problem != "":
		return "!", bad
	case s.Status == home.Running:
		return "●", good
	case s.Status.Active():
		return "◌", warn
	case s.Status == home.Lost:
		return "?", odd
	case s.Status == home.Failed, s.ExitCode != nil && *s.ExitCode != 0 && s.Status == home.Exited:
		return "✗", bad
	}
	return "○", faint
}

// statusText returns a session's status in a few letters.
func statusText(s *dashboard.Session) string {
	switch {
	case s.Problem != "":
		return "unreadable"
	case s.Status == home.Exited && s.ExitSignal != "":
		return s.ExitSignal
	case s.Status == home.Exited && s.ExitCode != nil:
		return fmt.Sprintf("exit %d", *s.ExitCode)
	}
	return string(s.Status)
}

// nameOf is what a session is called: by its agent, if it has one.
func (u *ui) nameOf(s *dashboard.Session) string {
	if a := u.agents.of(s); a != nil {
		return a.Name
	}
	return shortName(s.Name)
}

// shortName leaves out the tag by which a keeper knows its own sessions.
func shortName(name string) string {
	short, _ := dashboard.AgentSession(name)
	return short
}

// plain makes text of others fit for a line: no control characters, and
// nothing that terminals disagree about how wide it is.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if agreed(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) {
			return -1 // joiners, variants, marks: their first characters stay
		}
		return r
	}, s)
	if agreed(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && !agreed(string(r)) || r >= 0x1F000 {
			return '?'
		}
		return r
	}, s)
}

// agreed reports whether a text is as wide by its characters as by its runes.
func agreed(s string) bool { return ansi.StringWidth(s) == ansi.StringWidthWc(s) }

// fit cuts or pads styled text to exactly n columns.
func fit(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if w := ansi.StringWidth(s); w <= n {
		return s + strings.Repeat(" ", n-w)
	}
	s = ansi.Truncate(s, n, "…")
	return s + strings.Repeat(" ", max(0, n-ansi.StringWidth(s)))
}

// fill is so many lines: what is missing is blank.
func fill(lines []string, width, height int) []string {
	for len(lines) < height {
		lines = append(lines, strings.Repeat(" ", width))
	}
	return lines[:height]
}

// ends puts one text at the left and one at the right of n columns; the left
// one gives way.
func ends(left, right string, n int) string {
	w := ansi.StringWidth(right)
	if w >= n {
		return fit(right, n)
	}
	return fit(left, n-w) + right
}

// clock is a place in a session's time: 1:02:03.4.
func clock(d time.Duration) string {
	s := fmt.Sprintf("%d:%04.1f", int(d.Minutes())%60, (d % time.Minute).Truncate(100*time.Millisecond).Seconds())
	if h := int(d.Hours()); h > 0 {
		s = fmt.Sprintf("%d:%02d:%04.1f", h, int(d.Minutes())%60, (d % time.Minute).Truncate(100*time.Millisecond).Seconds())
	}
	return s
}
