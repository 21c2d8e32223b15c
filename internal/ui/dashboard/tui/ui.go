package tui

import (
	"context"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/screen/eventlog"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
)

// ui is all that is shown. It belongs to bubbletea's loop.
type ui struct {
	pump *pump
	now  func() time.Time

	width, height int
	list          *dashboard.Listing // what is shown of known, or nil: not read yet
	known         *dashboard.Listing // or nil, as list
	all           bool               // sessions that are over, too
	byNeed        bool               // what needs a person is first
	touched       bool               // somebody has pressed a key: somebody is there
	filter        string
	filtering     bool // keys go to the filter
	help          bool
	wide          bool // the list is hidden

	rows       []row  // of the list, as filtered
	chosen     string // the id of the selected session, or empty
	selectNext string // the name or id to select when it is first seen
	listTop    int    // the first row in view

	last    map[string]string   // what sessions did last, by their ids
	looksAt map[string]home.Dir // whose is asked for

	session *dashboard.Session  // the selected one, as last seen, or nil
	live    *dashboard.Frame    // its newest screen, or nil
	ended   bool                // no newer one will come
	problem string              // why it cannot be shown, or empty
	line    *dashboard.Timeline // or nil: not read yet
	lineAt  uint64              // the event up to which it was asked for

	homes    homes
	agents   agents
	sleepers sleepers
	self     string // the id of the session that this runs in, or empty
	answer   answer
	decides  func(ctx context.Context, id string, way int, words string) (string, error) // or nil

	past     *visit   // or nil: live
	count    int      // visits so far
	viewport viewport // which part of the screen
}

// visit is a stay in a session's past.
type visit struct {
	number int
	frame  *dashboard.Frame  // or nil: not there yet
	at     eventlog.Position // where it is, or is going
	ahead  bool              // the last move was forward by a step
	timed  bool              // the last move was to a time, which may lie behind the frame's last event
}

func newUI(o Options, p *pump) *ui {
	return &ui{pump: p, homes: homes{shown: o.OneHome}, now: o.Now, all: o.All, selectNext: o.Select, self: o.Self, decides: o.Decide, last: map[string]string{}, viewport: viewport{follow: true}}
}

// tickMsg lets ages grow and asks for what has happened since.
type tickMsg struct{}

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

// Init is bubbletea's.
func (u *ui) Init() tea.Cmd { return tick() }

// Update is bubbletea's.
func (u *ui) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := u.update(msg)
	u.showInView()
	return u, cmd
}

func (u *ui) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		u.width, u.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd := u.key(msg)
		u.touched = true
		u.look()
		return cmd
	case tea.PasteMsg:
		if u.filtering {
			u.setFilter(u.filter + plain(msg.Content))
		}
	case tickMsg:
		u.askTimeline()
		return tick()
	case listMsg:
		u.setList(without(msg.list, u.self))
		maps.DeleteFunc(u.last, func(id, _ string) bool { _, ok := u.known.Find(id); return !ok })
		u.look()
	case frameMsg:
		u.takeFrame(msg)
		u.look()
	case lineMsg:
		if msg.id == u.chosen && msg.err == nil {
			u.line = msg.line
		}
	case pastMsg:
		u.takePast(msg)
	case agentsMsg:
		u.agents.take(msg)
	case nightsMsg:
		u.sleepers.take(msg)
	case decidedMsg:
		u.takeDecided(msg)
	case lastMsg:
		u.last[msg.id] = msg.text
	}
	return nil
}

func (u *ui) takeFrame(msg frameMsg) {
	if msg.id != u.chosen {
		return // of the one before
	}
	switch {
	case msg.frame != nil:
		u.live, u.problem = msg.frame, ""
		if u.line == nil {
			u.askTimeline()
		}
	case over(msg.err):
		u.ended = true
		u.askTimeline()
	default:
		u.ended, u.problem = true, msg.err.Error()
	}
}

func (u *ui) takePast(msg pastMsg) {
	if u.past == nil || msg.visit != u.past.number {
		return // it was left
	}
	if msg.err != nil {
		u.problem = msg.err.Error()
		return
	}
	if u.past.ahead && !msg.moved {
		u.goLive() // there is nothing behind it
		return
	}
	u.problem = ""
	u.past.frame = msg.frame
	u.past.at.Seq = msg.frame.Seq
	if !u.past.timed {
		u.past.at.Elapsed = msg.frame.Elapsed
	}
}

// choose selects a session and forgets what was shown of the last.
func (u *ui) choose(s *dashboard.Session) {
	if s == nil {
		u.chosen, u.session = "", nil
		u.pump.live.put(home.Dir{})
	} else if s.ID == u.chosen {
		u.session = s
		return
	} else {
		u.chosen, u.session = s.ID, s
		u.pump.live.put(s.Dir)
	}
	u.live, u.line, u.past, u.problem, u.ended, u.lineAt = nil, nil, nil, "", false, 0
	u.viewport.reset()
}

// askTimeline asks for what the timeline does not have yet.
func (u *ui) askTimeline() {
	if u.session == nil || u.live == nil || u.line != nil && u.lineAt == u.live.Seq {
		return
	}
	u.lineAt = u.live.Seq
	u.pump.line.put(u.session.Dir)
}

// frame is the screen to show, or nil.
func (u *ui) frame() *dashboard.Frame {
	if u.past != nil && u.past.frame != nil {
		return u.past.frame
	}
	return u.live
}

// end is the last moment that is known.
func (u *ui) end() eventlog.Position {
	var end eventlog.Position
	if u.line != nil {
		end = u.line.Last
	}
	if u.live != nil && u.live.Seq > end.Seq {
		end = eventlog.Position{Seq: u.live.Seq, Elapsed: u.live.Elapsed}
	}
	return end
}

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
	case u.homes.open && name != "q":
		u.homesKey(name)
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
	case "H":
		if u.homes.shown == "" {
			u.viewport.key(name)
			break
		}
		u.homes.open, u.homes.at = true, u.homes.shown
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
	by := rowsOf(name)
	if by != 0 {
		u.move(by)
	}
	return by != 0
}

// rowsOf is how many rows down a key moves in a list: less than 0 is up, and 0
// says that it does not.
func rowsOf(name string) int {
	return map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -10, "pgdown": 10}[name]
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
		if u.homes.shown != "" {
			l = strings.Replace(l, " H J K L         move", " H   J K L       another Home;  move", 1)
		}
		lines = append(lines, fit(l, u.width))
	}
	return fill(lines, u.width, u.height)
}
