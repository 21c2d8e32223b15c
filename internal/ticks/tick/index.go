package tick

import (
	"strings"
	"time"

	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/terminal"
)

// newIndex is the index of a tick, with what is known when it begins.
func newIndex(repo *datarepo.Repo, s plan.State, c datarepo.Config) *history.Writer {
	return history.NewWriter(repo, history.Tick{
		Number: s.Tick, Began: s.Began, Runner: c.Runner, Model: modelOf(c), Causes: s.Causes, Transcript: datarepo.TickLog(s.Tick),
	})
}

// indexEnd writes down how the tick ended. When that was is not known of a tick
// whose process was killed.
func (t *tick) indexEnd(s plan.State, now time.Time) error {
	return t.index.End(history.End{
		At: now, Outcome: s.Outcome, Turns: s.Turns, CostUSD: s.CostUSD, Context: s.Context, Last: s.LastText, Seen: t.seen,
	})
}

// indexTerminal notes a terminal in the index of the tick that opened it.
func (t *tick) indexTerminal(r terminal.Record) {
	one := history.Terminal{
		Number: r.Number, Command: r.Command, Label: r.Label, Session: r.Session, Opened: r.Opened, Closed: r.Closed,
		Status: r.Status, Archive: r.Archive, Recording: r.Recording, Note: strings.Join(r.Notes, "; "),
	}
	if r.Tick == t.number {
		t.report("index a terminal", t.index.Terminal(one))
		return
	}
	t.report("index a terminal of an earlier tick", history.Amend(t.o.Repo, r.Tick, one))
}
