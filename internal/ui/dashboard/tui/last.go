package tui

import (
	"context"
	"maps"
	"strings"
	"time"

	"den/internal/session/cell"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// lastGap is the time between two looks at what a session in the list does.
const lastGap = time.Second

// lastMsg is what a session did last, on one line.
type lastMsg struct{ id, text string }

// glance tells what the sessions in view did last, until ctx ends.
func (p *pump) glance(ctx context.Context, send func(tea.Msg)) {
	watched := map[string]context.CancelFunc{}
	for {
		var wanted map[string]home.Dir
		select {
		case <-ctx.Done():
			for _, leave := range watched {
				leave()
			}
			return
		case wanted = <-p.inView:
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
	select {
	case <-u.pump.inView:
	default:
	}
	u.pump.inView <- wanted // room: nobody else puts
}

// lastOf is what the list says of a session below its name: what it asks or how it
// failed, else what it did last.
func (u *ui) lastOf(s *dashboard.Session) (string, lipgloss.Style) {
	if s.Attention.State.NeedsPerson() && s.Attention.What != "" {
		return plain(s.Attention.What), warn
	}
	return u.last[s.ID], faint
}
