package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"den/internal/ticks/history"
	"den/internal/ticks/terminal"
)

// records keeps what is told of terminals.
type records struct {
	mu  sync.Mutex // guards all
	all []recorded
}

type recorded struct {
	tick int
	history.Terminal
}

func (r *records) add(tick int, one history.Terminal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, recorded{tick, one})
}

// told is what was told since the last time, one line each.
func (r *records) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, one := range r.all {
		state := "open"
		if !one.Closed.IsZero() {
			state = "closed " + one.Recording
		}
		lines = append(lines, fmt.Sprintf("tick %d terminal %d %s %s", one.tick, one.Number, one.Command, state))
	}
	r.all = nil
	return lines
}

// newRecorded is newAgent with records of its terminals.
func newRecorded(t *testing.T) (*agent, *records) {
	a, r := newAgent(t), &records{}
	a.config.Record = r.add
	a.next()
	return a, r
}

// Terminals are recorded when they are opened and when they are archived.
func TestRecords(t *testing.T) {
	t.Parallel()
	a, r := newRecorded(t)
	a.login()
	n := a.open("cat")
	if got, want := r.told(), []string{"tick 1 terminal 0 bash open", "tick 1 terminal 1 cat open"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := a.Close(t.Context(), terminal.CloseArgs{Number: n}); err != nil {
		t.Fatal(err)
	}
	want := "system/logs/sessions/tty_1-tick-001/recording.cast"
	if got := r.told(); !slices.Equal(got, []string{"tick 1 terminal 1 cat closed " + want}) {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(a.config.Data, want)); err != nil {
		t.Error(err)
	}
	if err := a.CloseAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What an earlier tick left is recorded for that tick, also if no list has it,
// and what is gone is recorded as lost.
func TestRecordsOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	a, r := newRecorded(t)
	a.config.Tick = 5
	a.next()
	a.login()
	a.open("cat")
	lost := a.sessionOf(1)
	a.crash()
	defer a.end()
	if err := os.Remove(filepath.Join(a.config.State, "registry.json")); err != nil {
		t.Fatal(err)
	}
	r.told()
	if _, err := a.CloseLeft(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tick 5 terminal 0 bash closed system/logs/sessions/tty_0-tick-005/recording.cast",
		"tick 5 terminal 1 bash -c cat closed system/logs/sessions/tty_1-tick-005/recording.cast",
	}
	if got := r.told(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	registry := fmt.Sprintf(`{"tty_4":{"command":"cat","created":"2026-11-16T00:00:00Z","session":%q,"tick":3}}`, lost.ID)
	if err := os.WriteFile(filepath.Join(a.config.State, "registry.json"), []byte(registry), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CloseLeft(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.told(); !slices.Equal(got, []string{"tick 3 terminal 4 cat closed "}) {
		t.Errorf("%q", got)
	}
}
