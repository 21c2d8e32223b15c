package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// Night is an agent that sleeps and wakes, and its newest ticks, the newest
// first.
type Night struct {
	nights.Agent
	Ticks []nights.Bar
}

// nightsMsg is what the agents that sleep and wake do now.
type nightsMsg struct {
	all []Night
	err error // why nothing is known of them
}

// askNights tells of the agents that sleep and wake whenever something has
// changed, until ctx ends.
func (p *pump) askNights(ctx context.Context, ask func(context.Context) ([]Night, error), send func(tea.Msg)) {
	fleet.Poll(ctx, fleet.Every, nil, soon(ask), func(all []Night, err error) { send(nightsMsg{all, err}) })
}

// sleepers is the table of the agents that sleep and wake, and of the ticks of
// one of them.
type sleepers struct {
	known   []Night
	problem string // why nothing is known now, or empty
	open    bool   // it is shown instead of the sessions
	chosen  string // the name of the selected agent
	tick    int    // the number of its selected tick, or 0: the newest
	top     int    // the first agent in view
	ticks   int    // the first tick in view
}

func (s *sleepers) take(msg nightsMsg) {
	s.problem = ""
	if msg.err != nil {
		s.problem = msg.err.Error() // what was known stays: it is the best there is
		return
	}
	s.known = msg.all
}

// there reports whether there is anything to show.
func (s *sleepers) there() bool { return len(s.known) > 0 || s.problem != "" }

// at is the row of the selected agent: the first, if that one is gone.
func (s *sleepers) at() int {
	return max(0, slices.IndexFunc(s.known, func(n Night) bool { return n.Name == s.chosen }))
}

func (s *sleepers) current() *Night {
	if len(s.known) == 0 {
		return nil
	}
	return &s.known[s.at()]
}

// tickAt is the row of the selected tick: the newest, if that one is not listed.
func (s *sleepers) tickAt() int {
	n := s.current()
	if n == nil {
		return 0
	}
	return max(0, slices.IndexFunc(n.Ticks, func(b nights.Bar) bool { return b.Number == s.tick }))
}

func (s *sleepers) move(by int) {
	if len(s.known) > 0 {
		s.chosen, s.tick, s.ticks = s.known[max(0, min(s.at()+by, len(s.known)-1))].Name, 0, 0
	}
}

// moveTick goes to an older tick, or with a negative number to a newer one.
func (s *sleepers) moveTick(by int) {
	if n := s.current(); n != nil && len(n.Ticks) > 0 {
		s.tick = n.Ticks[max(0, min(s.tickAt()+by, len(n.Ticks)-1))].Number
	}
}

// nightsKey does what a key says while the table is shown.
func (u *ui) nightsKey(name string) {
	s := &u.sleepers
	switch name {
	case "t", "esc":
		s.open = false
	case "left", "h":
		s.move(-1)
	case "right", "l":
		s.move(1)
	case "up", "k", "down", "j", "pgup", "pgdown":
		s.moveTick(rowsOf(name))
	case "home", "g":
		s.tick = 0
	case "end", "G":
		if n := s.current(); n != nil {
			s.moveTick(len(n.Ticks))
		}
	case "?", "f1":
		u.help = true
	}
}

// nightSign is how an agent's state looks.
func nightSign(state instance.State) (string, lipgloss.Style) {
	switch state {
	case instance.Ticking, instance.Waking:
		return "●", accent
	case instance.Asleep:
		return "○", good
	case instance.Pausing:
		return "‖", warn
	case instance.Idle:
		return "○", faint
	case instance.CutOff:
		return "?", odd
	}
	return "✗", bad
}

// barStyle is the colour of a tick: how it ended.
func barStyle(b nights.Bar) *lipgloss.Style {
	switch {
	case b.State == instance.TickRuns:
		return &accent
	case b.State != instance.TickEnded, b.Reason == plan.Crashed:
		return &odd
	case b.Reason == plan.Normal:
		return &good
	case b.Reason == plan.Limit, b.Reason == plan.ContextFull:
		return &warn
	case b.Reason == plan.Interrupted:
		return &faint
	}
	return &bad
}

// barEnd says how a tick ended.
func barEnd(b nights.Bar) string {
	ends := map[instance.TickState]string{instance.TickRuns: "runs", instance.TickCutOff: "killed", instance.TickEnded: string(b.Reason)}
	if end, ok := ends[b.State]; ok {
		return end
	}
	return "not known"
}

// barTook is how long a tick took. Of one whose end is not known it is said how
// long at least.
func barTook(b nights.Bar, now time.Time) string {
	switch {
	case b.Began.IsZero():
		return "?"
	case b.State == instance.TickRuns:
		return now.Sub(b.Began).Round(time.Second).String()
	case b.Open:
		return "≥" + b.Until.Sub(b.Began).Round(time.Second).String()
	}
	return b.Until.Sub(b.Began).Round(100 * time.Millisecond).String()
}

// nightSpan is the time that the track of an agent shows.
const nightSpan = 12 * time.Hour

// drawNights is the table, as lines of one width: agents with their tracks, and
// below the ticks of the selected one.
func (u *ui) drawNights(width, height int) []string {
	s := &u.sleepers
	lines := []string{}
	if s.problem != "" {
		lines = append(lines, fit(" "+bad.Render(plain(s.problem)), width))
	}
	shown := min(len(s.known), max(1, (height-len(lines))/5)) // two lines each, and room for ticks
	s.top = max(0, min(s.top, len(s.known)-shown))
	s.top = max(min(s.top, s.at()), s.at()-shown+1)
	for i := s.top; i < s.top+shown; i++ {
		lines = append(lines, u.drawNight(s.known[i], i == s.at(), width), fit("   "+u.drawTicks(s.known[i], max(1, width-6)), width))
	}
	if n := s.current(); n != nil {
		lines = append(lines, u.drawBars(n, width, height-len(lines))...)
	}
	return fill(lines, width, height)
}

func (u *ui) drawNight(n Night, chosen bool, width int) string {
	mark, style := nightSign(n.State)
	text := fmt.Sprintf("%s  %d ticks", n.State, n.Tick)
	if len(n.Wakes) > 0 {
		text += "  next " + n.Wakes[0].At.Local().Format("15:04")
	}
	if len(n.Waiting) > 0 {
		text += fmt.Sprintf("  %d waiting", len(n.Waiting))
	}
	why := cmp.Or(n.Doing, n.Why)
	rest := " " + plain(text) + "  " + plain(why)
	if chosen {
		return selected.Render(fit("›"+mark+" "+plain(n.Name)+rest, width))
	}
	return fit(" "+style.Render(mark)+" "+strong.Render(plain(n.Name))+rest, width)
}

// drawTicks is the last night of an agent: its ticks in the colour of how they
// ended, sleep between them, and pauses. Of several in one column the one that
// did not end well shows.
func (u *ui) drawTicks(n Night, width int) string {
	now := u.now()
	begin := now.Add(-nightSpan)
	signs := make([]trackSign, width)
	for x := range signs {
		signs[x] = trackSign{"─", &faint}
	}
	at := func(t time.Time) int { return column(t.Sub(begin), nightSpan, width) }
	if !n.PausedSince.IsZero() {
		for x := at(n.PausedSince); x < width; x++ {
			signs[x] = trackSign{"╌", &warn}
		}
	}
	for _, b := range n.Ticks {
		until := b.Until
		if b.State == instance.TickRuns {
			until = now
		}
		if b.Began.IsZero() || until.Before(begin) {
			continue
		}
		for x := at(b.Began); x <= at(until); x++ {
			if style := barStyle(b); signs[x].text != "━" || style != &good {
				signs[x] = trackSign{"━", style}
			}
		}
	}
	return render(signs)
}

// drawBars lists the ticks of an agent below a rule, the newest first.
func (u *ui) drawBars(n *Night, width, height int) []string {
	if height < 2 {
		return nil
	}
	s := &u.sleepers
	head := fmt.Sprintf("── %s: the newest of %d ticks ", plain(n.Name), n.Tick)
	lines := []string{fit(faint.Render(head+strings.Repeat("─", max(0, width-len([]rune(head))))), width)}
	if len(n.Ticks) == 0 {
		return append(lines, fit(faint.Render("   nothing is known of ticks"), width))
	}
	room := height - 1
	s.ticks = max(0, min(s.ticks, len(n.Ticks)-room))
	s.ticks = max(min(s.ticks, s.tickAt()), s.tickAt()-room+1)
	for i := s.ticks; i < len(n.Ticks) && len(lines) < height; i++ {
		lines = append(lines, u.drawBar(n.Ticks[i], i == s.tickAt(), width))
	}
	return lines
}

func (u *ui) drawBar(b nights.Bar, chosen bool, width int) string {
	began := "?"
	if !b.Began.IsZero() {
		began = b.Began.Local().Format("01-02 15:04:05")
	}
	facts := fmt.Sprintf("%d turns", b.Turns)
	if b.State != instance.TickEnded {
		facts = "? turns"
	}
	if b.CostUSD > 0 {
		facts += fmt.Sprintf(" $%.2f", b.CostUSD)
	}
	why := cmp.Or(b.Why, b.Last)
	left := fmt.Sprintf("%6d  %s  %9s  ", b.Number, began, barTook(b, u.now()))
	end := fmt.Sprintf("%-17s", barEnd(b))
	right := fmt.Sprintf(" %-14s %d term.  %s", facts, b.Terminals, plain(why))
	if chosen {
		return selected.Render(fit("›"+left+end+right, width))
	}
	return fit(" "+left+barStyle(b).Render(end)+right, width)
}

// nightsFooter has the command that replays the selected tick.
func (u *ui) nightsFooter() string {
	left := ""
	if n := u.sleepers.current(); n != nil && len(n.Ticks) > 0 {
		left = fmt.Sprintf(" den kernel replay %s %d", plain(n.Name), n.Ticks[u.sleepers.tickAt()].Number)
	}
	return ends(left, faint.Render(" ↑↓ tick  ←→ agent  t back  ? help  q quit "), u.width)
}
