package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// key does what a key says.
func (u *ui) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case u.help:
		u.help = false // any key
		return nil
	case u.answer.open:
		return u.answerKey(k)
	case name == "y" && !u.filtering && u.decides != nil && u.askHere() != nil:
		u.openAnswer()
		return nil
	case u.filtering:
		u.filterKey(k)
		return nil
	case u.agents.open && name != "q":
		u.agentsKey(name)
		return nil
	case u.sleepers.open && name != "q":
		u.nightsKey(name)
		return nil
	}
	switch name {
	case "q":
		return tea.Quit
	case "?", "f1":
		u.help = true
	case "/":
		u.filtering = true
	case "a":
		u.all = !u.all
		u.refresh()
	case "n":
		u.visitWaiting()
	case "s":
		u.byNeed = !u.byNeed
		u.refresh()
	case "w":
		u.agents.open = u.agents.there()
	case "t":
		u.sleepers.open = u.sleepers.there()
	case "enter", "f":
		u.wide = !u.wide
	case "esc":
		u.escape()
	default:
		if !u.listKey(name) && !u.timeKey(name) {
			u.viewport.key(name)
		}
	}
	return nil
}

// escape undoes the last thing that is not as it was at the beginning.
func (u *ui) escape() {
	switch {
	case u.past != nil:
		u.goLive()
	case u.wide:
		u.wide = false
	case u.filter != "":
		u.setFilter("")
	}
}

func (u *ui) listKey(name string) bool {
	switch name {
	case "up", "k":
		u.move(-1)
	case "down", "j":
		u.move(1)
	case "pgup":
		u.move(-10)
	case "pgdown":
		u.move(10)
	default:
		return false
	}
	return true
}

func (u *ui) timeKey(name string) bool {
	switch name {
	case "left":
		u.step(-1)
	case "right":
		u.step(1)
	case "shift+left", ",":
		u.skip(-1)
	case "shift+right", ".":
		u.skip(1)
	case "[":
		u.jump(-1)
	case "]":
		u.jump(1)
	case "home", "g":
		u.toBeginning()
	case "end", "G":
		u.goLive()
	default:
		return false
	}
	return true
}

func (u *ui) filterKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		u.filtering = false
	case "esc":
		u.filtering = false
		u.setFilter("")
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(u.filter)
		u.setFilter(u.filter[:len(u.filter)-n])
	case "ctrl+u":
		u.setFilter("")
	case "up", "down":
		u.listKey(k.String())
	default:
		u.setFilter(u.filter + k.Text)
	}
}

// maxFilter bounds what is typed or pasted there.
const maxFilter = 200

func (u *ui) setFilter(text string) {
	if len(text) > maxFilter {
		return
	}
	u.filter = text
	u.refresh()
}

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
