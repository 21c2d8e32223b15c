package tui

import "strings"

var helpText = []string{
	"",
	" Nothing is sent to a session but your answers (y), and none is resized.",
	"",
	" ↑ ↓  j k        select a session       PgUp PgDn   ten at once",
	" Enter           the screen alone, and back",
	" a               also sessions that are over",
	" /               filter by name, status, command, Home; asking, needs-you",
	" w               the agents of the workspace; Enter: to its session",
	" t               the agents that sleep and wake, and their ticks",
	" n   y           to what needs you next, oldest first;  read it, and answer it",
	" s               what needs you first, or the newest first",
	"",
	" ← →             one moment back or on: what the agent saw then",
	" , .             as far as one column of the timeline",
	" [ ]             to the last or next cell or mark",
	" Home g          to the beginning        End G Esc   live again",
	"",
	" H J K L         move the view over a large screen; also Alt and arrows",
	" 0               the view follows the cursor again",
	" z               the whole screen, small",
	"",
	" ● running  ◌ starting or ending  ○ over  ✗ failed  ? lost  ! needs you",
	" ━ a cell: green done, red failed, yellow at work    ◆ a mark",
	" q  Ctrl-C       quit",
}

func (u *ui) drawHelp() []string {
	lines := []string{bar.Render(ends(" den dashboard", "any key: back ", u.width))}
	for _, l := range helpText {
		if len(lines) < u.height {
			lines = append(lines, fit(l, u.width))
		}
	}
	for len(lines) < u.height {
		lines = append(lines, strings.Repeat(" ", u.width))
	}
	return lines
}
