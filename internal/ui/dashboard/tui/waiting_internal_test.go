package tui

import (
	"os"
	"strings"
	"testing"
	"time"

	"den/internal/session/attention"
	"den/internal/session/home"
	"den/internal/ui/dashboard"

	"github.com/charmbracelet/x/ansi"
)

// needing is a listing of sessions in several states, and their directories.
func needing(t *testing.T) *dashboard.Listing {
	t.Helper()
	l := &dashboard.Listing{Homes: []dashboard.Home{{Path: "/h", Own: true, Active: 3}}}
	add := func(name string, status home.Status, state attention.State, waits time.Duration) {
		d := home.Dir{Path: t.TempDir(), ID: "id-" + name}
		a := attention.Attention{State: state, Since: noon.Add(-waits)}
		if state == attention.Asking {
			a.What = "go on?"
		}
		l.Homes[0].Sessions = append(l.Homes[0].Sessions, dashboard.Session{Dir: d, ID: d.ID, Name: name, Status: status, Created: noon, Attention: a})
	}
	add("works", home.Running, attention.Busy, 0)
	add("asks", home.Running, attention.Asking, time.Minute)
	add("turned", home.Running, attention.Done, 2*time.Minute)
	add("broke", home.Exited, attention.Failed, 3*time.Minute)
	return l
}

// The sessions that need a person are marked, counted, sorted, filtered, and
// walked through by one key, oldest first.
func TestSessionsThatNeedAPerson(t *testing.T) {
	u := newSample(120, 24)
	u.Update(listMsg{needing(t)})
	text := ansi.Strip(u.draw())
	for _, want := range []string{"1 asking, 1 failed, 1 done, 1 busy", "3 need you (n)", "! turned", "● works", "busy 0s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var walked []string
	for range 4 {
		press(u, "n")
		walked = append(walked, u.chosen)
	}
	if got := strings.Join(walked, " "); got != "id-broke id-turned id-asks id-broke" {
		t.Errorf("walked %s", got)
	}
	press(u, "s")
	if first := u.rows[0].session.Name; first != "asks" {
		t.Errorf("%s is first", first)
	}
	u.setFilter("needs-you")
	for _, r := range u.rows {
		if r.session != nil && !r.session.Attention.State.NeedsPerson() {
			t.Errorf("%s needs nobody", r.session.Name)
		}
	}
	checkLines(t, u, "what needs a person")
}

// Who looks at a session is noted once its screen is there and somebody is at
// the keys; a session that needs nobody is left alone.
func TestLookingIsNoted(t *testing.T) {
	u := newSample(100, 24)
	l := needing(t)
	u.Update(listMsg{l})
	looked := func(i int) bool {
		_, err := os.Stat(l.Homes[0].Sessions[i].Dir.Path + "/looked")
		return err == nil
	}
	u.visitSession("id-turned")
	u.Update(frameMsg{id: "id-turned", frame: &dashboard.Frame{}})
	if looked(2) {
		t.Error("nobody has pressed a key")
	}
	press(u, "0")
	if !looked(2) {
		t.Error("it was looked at")
	}
	if looked(0) || looked(1) {
		t.Error("others were not")
	}
}
