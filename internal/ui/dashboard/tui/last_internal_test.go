package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/session/attention"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Each row says what the session did last, or what it asks: below its name where
// there is room, else beside it.
func TestLastOnEachRow(t *testing.T) {
	for _, c := range []struct {
		height int
		works  string
		asks   string
	}{
		{24, "busy 0s \n   make: *** [all] Error 1", "\n   go on?"},
		{9, "● works  make: *** [all] … busy 0s ", "! asks  go on?"},
	} {
		u := newSample(120, c.height)
		u.Update(listMsg{needing(t)})
		u.Update(lastMsg{"id-works", "make: *** [all] Error 1"})
		u.Update(lastMsg{"id-gone", "of one that is not listed"})
		u.Update(listMsg{needing(t)})
		var list []string
		for l := range strings.SplitSeq(ansi.Strip(u.draw()), "\n") {
			left, _, _ := strings.Cut(l, "│")
			list = append(list, left)
		}
		text := strings.Join(list, "\n")
		for _, want := range []string{c.works, c.asks} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d rows there is no %q in\n%s", c.height, want, text)
			}
		}
		checkLines(t, u, "last lines")
		if _, ok := u.last["id-gone"]; ok {
			t.Error("a session that is gone is remembered")
		}
	}
}

// The pump looks at the active sessions in view, and at no others.
func TestOnlySessionsInViewAreLookedAt(t *testing.T) {
	u := newSample(120, 12)
	l := &dashboard.Listing{Homes: []dashboard.Home{{Path: "/h", Own: true}}}
	for i := range 100 {
		d := home.Dir{Path: fmt.Sprint("/nowhere/", i), ID: fmt.Sprint("id", i)}
		status := home.Running
		if i == 1 {
			status = home.Exited
		}
		l.Homes[0].Sessions = append(l.Homes[0].Sessions, dashboard.Session{Dir: d, ID: d.ID, Name: d.ID, Status: status, Created: noon})
	}
	press(u, "a")
	u.Update(listMsg{l})
	wanted := <-u.pump.inView.c
	if len(wanted) != 11 || wanted["id1"].Path != "" || wanted["id0"].Path == "" || wanted["id50"].Path != "" {
		t.Errorf("%d are looked at: %v", len(wanted), wanted)
	}
	u.Update(tickMsg{})
	select {
	case again := <-u.pump.inView.c:
		t.Errorf("nothing has changed, and it is told %v", again)
	default:
	}
}

// What a cell asks is answered in words, at once: there is nothing to choose.
func TestCellIsAnswered(t *testing.T) {
	d := &decider{}
	u := newUI(Options{Now: func() time.Time { return noon }, Decide: d.decide}, newPump(nil))
	u.Update(tea.WindowSizeMsg{Width: 40, Height: 8})
	l := needing(t)
	l.Homes[0].Sessions[1].Attention.Source = "cell"
	u.Update(listMsg{l})
	press(u, "n", "n", "n") // broke, turned, asks
	if text := ansi.Strip(u.draw()); u.chosen != "id-asks" || !strings.Contains(text, "y answer") {
		t.Fatalf("%s:\n%s", u.chosen, text)
	}
	press(u, "y")
	checkLines(t, u, "a cell asks")
	press(u, "not now")
	enter(u)
	if len(d.calls) != 1 || d.calls[0] != CellAsks+"id-asks 0 not now" {
		t.Errorf("%q", d.calls)
	}
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "it is decided") {
		t.Errorf("%s", text)
	}
	l.Homes[0].Sessions[1].Attention = attention.Attention{State: attention.Ready}
	u.Update(listMsg{l})
	press(u, "esc")
	press(u, "y")
	if u.answer.open {
		t.Error("it asks nothing, and is answered")
	}
}
