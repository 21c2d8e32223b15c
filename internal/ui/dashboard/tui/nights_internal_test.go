package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ui/dashboard/nights"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// sleepy are agents that had so many ticks each, with every kind of end.
func sleepy(agents, ticks int) []Night {
	states := []instance.State{instance.Asleep, instance.Ticking, instance.Pausing, instance.CutOff, instance.Idle, nights.Missing}
	ends := []nights.Bar{
		{State: instance.TickEnded, Reason: plan.Normal, Turns: 2, CostUSD: 0.25, Last: "I have written it down."},
		{State: instance.TickEnded, Reason: plan.Fatal, Why: "the login \x1b[31m日本語 has expired"},
		{State: instance.TickEnded, Reason: plan.Limit, Why: "after 10 rounds"},
		{State: instance.TickEnded, Reason: plan.Crashed, Why: "its process was killed", Open: true},
		{State: instance.TickLost, Open: true},
	}
	var all []Night
	for i := range agents {
		n := Night{Agent: nights.Agent{Name: fmt.Sprintf("agent-%d", i), State: states[i%len(states)], Why: "sleeps 🇩🇪 until it is woken", Tick: ticks}}
		if n.State == instance.Pausing {
			n.PausedSince = noon.Add(-time.Hour)
		}
		if i == 0 {
			n.Wakes = []nights.Wake{{At: noon.Add(time.Hour), Reason: "look"}}
			n.Waiting = []plan.Cause{{Kind: plan.ByTrigger, Reason: "by hand"}}
		}
		for k := range ticks {
			b := ends[k%len(ends)]
			b.Number, b.Began = ticks-k, noon.Add(-time.Duration(k+1)*20*time.Minute)
			b.Until = b.Began.Add(time.Minute)
			n.Ticks = append(n.Ticks, b)
		}
		if n.State == instance.Ticking && ticks > 0 {
			n.Ticks[0] = nights.Bar{Number: ticks, State: instance.TickRuns, Began: noon.Add(-90 * time.Second), Open: true}
		}
		all = append(all, n)
	}
	return all
}

func TestNights(t *testing.T) {
	u := newSample(120, 30)
	press(u, "t")
	if u.sleepers.open {
		t.Error("a table without agents")
	}
	u.Update(nightsMsg{all: sleepy(3, 12)})
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "t ticks") {
		t.Errorf("no hint:\n%s", text)
	}
	press(u, "t")
	checkLines(t, u, "the table")
	text := ansi.Strip(u.draw())
	for _, want := range []string{
		"›○ agent-0", "asleep  12 ticks", "next ", "1 waiting", "● agent-1", "‖ agent-2", "━", "╌", "the newest of 12 ticks",
		"›    12 ", "normal", "$0.25", "I have written it down.", "fatal", "the login  [31m日本語 has expired", "≥1m0s", "crashed", "not known", "? turns",
		"den kernel replay agent-0 12",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	press(u, "down", "down", "right")
	text = ansi.Strip(u.draw())
	for _, want := range []string{"›● agent-1", "den kernel replay agent-1 12", "runs", "1m30s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	press(u, "G")
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "den kernel replay agent-1 1 ") {
		t.Errorf("not the oldest:\n%s", text)
	}
	u.Update(nightsMsg{err: errors.New("the list of instances is damaged")})
	if text := ansi.Strip(u.draw()); !strings.Contains(text, "is damaged") || !strings.Contains(text, "agent-1") {
		t.Errorf("what was known is hidden:\n%s", text)
	}
	press(u, "esc")
	if u.sleepers.open {
		t.Error("Esc leaves the table open")
	}
}

// Of several ticks in one column the one that did not end well shows.
func TestTrackShowsWhatWentWrong(t *testing.T) {
	u := newSample(80, 24)
	var n Night
	for k := range 100 {
		b := nights.Bar{Number: 100 - k, State: instance.TickEnded, Reason: plan.Normal, Began: noon.Add(-time.Duration(k+1) * time.Second)}
		if k == 50 {
			b.Reason = plan.Fatal
		}
		b.Until = b.Began.Add(time.Second / 2)
		n.Ticks = append(n.Ticks, b)
	}
	if track := u.drawTicks(n, 40); !strings.Contains(track, bad.Render("━")) {
		t.Errorf("%q", track)
	}
}

// TestAskNights: what has not changed is told once.
func TestAskNights(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked, told := 0, 0
	ask := func(context.Context) ([]Night, error) {
		if asked++; asked == 2 {
			cancel()
		}
		return sleepy(2, 3), nil
	}
	newPump(nil).askNights(ctx, ask, func(tea.Msg) { told++ })
	if told != 1 {
		t.Errorf("asked %d times, told %d times", asked, told)
	}
}
