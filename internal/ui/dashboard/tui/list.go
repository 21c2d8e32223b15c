package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/base/brief"
	"den/internal/session/attention"
	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// row is a line of the list: a session, or the Home above some.
type row struct {
	home    *dashboard.Home
	session *dashboard.Session // or nil: the Home itself
}

// refresh makes the rows anew and keeps the selection where it was.
func (u *ui) refresh() {
	if u.list == nil {
		return
	}
	l := u.list
	if !u.all {
		l = l.Active()
	}
	before := slices.IndexFunc(u.rows, u.isChosen)
	u.rows = nil
	for i := range l.Homes {
		u.addHome(&l.Homes[i], len(l.Homes) > 1)
	}
	if u.selectNext != "" {
		if at := slices.IndexFunc(u.rows, func(r row) bool {
			return r.session != nil && (r.session.Name == u.selectNext || r.session.ID == u.selectNext)
		}); at >= 0 {
			u.selectNext = ""
			u.choose(u.rows[at].session)
			return
		}
	}
	if at := slices.IndexFunc(u.rows, u.isChosen); at >= 0 {
		u.choose(u.rows[at].session)
		return
	}
	u.chooseNear(max(0, before))
}

// without leaves out the session that the dashboard itself runs in: its screen
// would be the dashboard, which changes with each look at it.
func without(l *dashboard.Listing, id string) *dashboard.Listing {
	if _, ok := l.Find(id); !ok {
		return l
	}
	out := &dashboard.Listing{Problem: l.Problem, Homes: slices.Clone(l.Homes)}
	for i := range out.Homes {
		h := &out.Homes[i]
		at := slices.IndexFunc(h.Sessions, func(s dashboard.Session) bool { return s.ID == id })
		if at < 0 {
			continue
		}
		if h.Sessions[at].Status.Active() {
			h.Active--
		}
		h.Sessions = slices.Delete(slices.Clone(h.Sessions), at, at+1)
	}
	return out
}

func (u *ui) isChosen(r row) bool { return r.session != nil && r.session.ID == u.chosen }

// addHome adds a Home's sessions that the filter lets through; the Home is
// named if there are others, or if it cannot be read.
func (u *ui) addHome(h *dashboard.Home, named bool) {
	var found []row
	for i := range h.Sessions {
		if h.Sessions[i].Matches(u.filter) {
			found = append(found, row{h, &h.Sessions[i]})
		}
	}
	if u.byNeed {
		slices.SortStableFunc(found, needsFirst)
	}
	if named && (len(found) > 0 || h.Own && u.filter == "") || h.Problem != "" {
		u.rows = append(u.rows, row{home: h})
	}
	u.rows = append(u.rows, found...)
}

// needsFirst puts what needs a person first, and what waits longest before that.
func needsFirst(a, b row) int {
	x, y := a.session.Attention, b.session.Attention
	order := attention.States()
	if i, j := slices.Index(order, x.State), slices.Index(order, y.State); i != j {
		return cmp.Compare(i, j)
	}
	if x.State.NeedsPerson() {
		return x.Since.Compare(y.Since)
	}
	return 0
}

// chooseNear selects the session at or next to a row.
func (u *ui) chooseNear(at int) {
	for i := at; i < len(u.rows); i++ {
		if u.rows[i].session != nil {
			u.choose(u.rows[i].session)
			return
		}
	}
	for i := min(at, len(u.rows)) - 1; i >= 0; i-- {
		if u.rows[i].session != nil {
			u.choose(u.rows[i].session)
			return
		}
	}
	u.choose(nil)
}

// move selects the session so many further down.
func (u *ui) move(by int) {
	at := slices.IndexFunc(u.rows, u.isChosen)
	if at < 0 {
		u.chooseNear(0)
		return
	}
	last := at
	for i := at; by != 0; {
		if by > 0 {
			i++
		} else {
			i--
		}
		if i < 0 || i >= len(u.rows) {
			break
		}
		if u.rows[i].session == nil {
			continue
		}
		last = i
		if by > 0 {
			by--
		} else {
			by++
		}
	}
	u.choose(u.rows[last].session)
}

// drawList returns the list as lines of one width.
func (u *ui) drawList(width, height int) []string {
	at := slices.IndexFunc(u.rows, u.isChosen)
	u.listTop = max(0, min(u.listTop, len(u.rows)-height))
	if at >= 0 {
		first := at
		if first > 0 && u.rows[first-1].session == nil {
			first-- // with its Home
		}
		u.listTop = max(min(u.listTop, first), at-height+1)
	}
	lines, tall := make([]string, 0, height), u.tallRows(height)
	for i := u.listTop; i < len(u.rows) && len(lines) < height; i++ {
		lines = append(lines, u.drawRow(u.rows[i], i == at, width, !tall))
		if s := u.rows[i].session; s != nil && tall {
			text, style := u.lastOf(s)
			lines = append(lines, fit("   "+style.Render(clip(text, width-4)), width))
		}
	}
	if len(u.rows) == 0 {
		for _, l := range u.emptyList() {
			lines = append(lines, fit(faint.Render(" "+l), width))
		}
	}
	return fill(lines, width, height)
}

func (u *ui) emptyList() []string {
	switch {
	case u.list == nil:
		return []string{"looking …"}
	case u.filter != "":
		return []string{"none matches", "Esc: all again"}
	case u.all:
		return []string{"no sessions", "den new NAME"}
	}
	return []string{"no active sessions", "a: those that are over"}
}

// tallRows reports whether there is room for a second line of each session: what
// it did last.
func (u *ui) tallRows(height int) bool {
	need := 0
	for _, r := range u.rows {
		need++
		if r.session != nil {
			need++
		}
	}
	return need <= height
}

// drawRow is one line; with last it also has what the session did last, as far as
// there is room.
func (u *ui) drawRow(r row, chosen bool, width int, last bool) string {
	if r.session == nil {
		name := tilde(r.home.Path)
		if r.home.Problem != "" {
			return fit(bad.Render("! ")+plain(name), width)
		}
		return fit(faint.Render(tail(plain(name), width)), width)
	}
	s := r.session
	mark, style := sign(s)
	if s.Attention.State.NeedsPerson() {
		mark, style = "!", warn
	}
	right := brief.Age(s.Age(u.now()))
	if s.Status != "running" || s.Problem != "" {
		right = statusText(s) + " " + right
	} else if s.Attention.State != "" {
		right = string(s.Attention.State) + " " + right
	}
	right = fmt.Sprintf(" %s ", right)
	name := plain(u.nameOf(s))
	text, textStyle := "", faint
	if room := width - 5 - ansi.StringWidth(name) - len(right); last && room >= lastMin {
		text, textStyle = u.lastOf(s)
		text = "  " + clip(text, room)
	}
	if chosen {
		return selected.Render(ends("›"+mark+" "+name+text, right, width))
	}
	return ends(" "+style.Render(mark)+" "+nameStyle(s).Render(name)+textStyle.Render(text), faint.Render(right), width)
}

// lastMin is from how many columns on the beginning of a line says something.
const lastMin = 8

// clip shortens plain text to a width.
func clip(text string, width int) string { return ansi.Truncate(text, max(0, width), "…") }

func nameStyle(s *dashboard.Session) lipgloss.Style {
	if s.Status.Active() {
		return lipgloss.NewStyle()
	}
	return faint
}

// tilde shortens a path below the user's own directory.
func tilde(path string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
			return "~/" + rest
		}
	}
	return path
}

// tail keeps the end of a path, which tells more than its beginning.
func tail(s string, n int) string {
	r := []rune(s)
	if len(r) <= n || n < 2 {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}

// lastGap is the time between two looks at what a session in the list does.
const lastGap = time.Second

// lastMsg is what a session did last, on one line.
type lastMsg struct{ id, text string }

// glance tells what the sessions in view did last, until ctx ends.
func (p *pump) glance(ctx context.Context, send func(tea.Msg)) {
	watched := map[string]context.CancelFunc{}
	for {
		wanted, ok := p.inView.take(ctx)
		if !ok {
			return // who is watched is left by ctx
		}
		for id, leave := range watched {
			if _, ok := wanted[id]; !ok {
				leave()
				delete(watched, id)
			}
		}
		for id, d := range wanted {
			if watched[id] != nil {
				continue
			}
			this, leave := context.WithCancel(ctx)
			watched[id] = leave
			p.work.Go(func() {
				defer leave()
				p.watchLast(this, d, send)
			})
		}
	}
}

// watchLast tells what one session did last, until ctx ends or it is over.
func (p *pump) watchLast(ctx context.Context, d home.Dir, send func(tea.Msg)) {
	v := p.model.Glance(d, lastGap)
	defer v.Close()
	told := ""
	for {
		f, err := v.Next(ctx)
		if err != nil {
			return // the list says how it ended
		}
		if text := lastText(d, f); text != told {
			told = text
			send(lastMsg{d.ID, text})
		}
	}
}

// lastText is the newest cell of a session, or else the last line on its screen.
func lastText(d home.Dir, f *dashboard.Frame) string {
	if r, err := (cell.Store{Dir: d.Cells()}).Load(""); err == nil {
		first, _, _ := strings.Cut(strings.TrimSpace(r.Code), "\n")
		return "» " + plain(first)
	}
	lines := strings.Split(strings.TrimRight(f.Screen.PlainText(), "\n "), "\n")
	return plain(strings.TrimSpace(lines[len(lines)-1]))
}

// showInView has the pump look at the active sessions that are in view.
func (u *ui) showInView() {
	wanted := map[string]home.Dir{}
	for i := u.listTop; i < len(u.rows) && i < u.listTop+u.height; i++ {
		if s := u.rows[i].session; s != nil && s.Status.Active() && s.Problem == "" {
			wanted[s.ID] = s.Dir
		}
	}
	if maps.Equal(wanted, u.looksAt) {
		return
	}
	u.looksAt = wanted
	u.pump.inView.put(wanted)
}

// lastOf is what the list says of a session below its name: what it asks or how it
// failed, else what it did last.
func (u *ui) lastOf(s *dashboard.Session) (string, lipgloss.Style) {
	if s.Attention.State.NeedsPerson() && s.Attention.What != "" {
		return plain(s.Attention.What), warn
	}
	return u.last[s.ID], faint
}
