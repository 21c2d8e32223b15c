package tui

import (
	"fmt"
	"slices"

	"den/internal/ui/dashboard"
)

// homes is which Home is shown, where it is one at a time, and the list of those
// that may be shown instead.
type homes struct {
	shown string // its path, or empty: all are
	open  bool
	at    string // the path of the one that is selected in the list
}

// setList takes a new listing: of one Home, if one is shown at a time.
func (u *ui) setList(l *dashboard.Listing) {
	u.known, u.list = l, l
	if u.homes.shown != "" {
		u.list = &dashboard.Listing{Problem: l.Problem}
		if at := slices.IndexFunc(l.Homes, func(h dashboard.Home) bool { return h.Path == u.homes.shown }); at >= 0 {
			u.list.Homes = l.Homes[at : at+1]
		}
	}
	u.refresh()
}

// toPick are the Homes that may be picked: those with a session that is active, or
// all, and the one that is shown.
func (u *ui) toPick() (all []dashboard.Home) {
	if u.known == nil {
		return nil
	}
	for _, h := range u.known.Homes {
		if u.all || h.Active > 0 || h.Path == u.homes.shown {
			all = append(all, h)
		}
	}
	return all
}

func (u *ui) pickedAt(all []dashboard.Home) int {
	return max(0, slices.IndexFunc(all, func(h dashboard.Home) bool { return h.Path == u.homes.at }))
}

func (u *ui) homesKey(name string) {
	all := u.toPick()
	at := u.pickedAt(all)
	switch name {
	case "H", "esc":
		u.homes.open = false
	case "a":
		u.all = !u.all
		u.refresh()
	case "enter":
		u.homes.open = false
		if len(all) > 0 {
			u.homes.shown = all[at].Path
			u.setList(u.known)
		}
	default:
		if by := rowsOf(name); by != 0 && len(all) > 0 {
			u.homes.at = all[min(max(at+by, 0), len(all)-1)].Path
		}
	}
}

func (u *ui) drawHomes(width, height int) []string {
	all := u.toPick()
	at := u.pickedAt(all)
	var lines []string
	for i := max(0, at-height+1); i < len(all) && len(lines) < height; i++ {
		h := &all[i]
		right := fmt.Sprintf(" %d active of %d ", h.Active, len(h.Sessions))
		if i == at {
			lines = append(lines, selected.Render(ends("› "+tilde(plain(h.Path)), right, width)))
			continue
		}
		lines = append(lines, ends("  "+tilde(plain(h.Path)), faint.Render(right), width))
	}
	return fill(lines, width, height)
}

func (u *ui) homesFooter() string {
	return ends("", faint.Render(" ↑↓ Home  Enter show it  a also without active sessions  Esc back "), u.width)
}
