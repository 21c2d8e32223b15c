package terminal

import (
	"testing"

	"den/internal/screen/eventlog"
	"den/internal/session/wire"
)

// A program that waits is ready once the agent can be shown all that it printed
// before, and not later: nobody asks again about a program that rests.
func TestReadyWithAllOutput(t *testing.T) {
	for _, c := range []struct {
		state string
		seq   uint64 // of the look
		want  string
		later string // when the event after it has come
	}{
		{"ready", 5, StateReady, StateReady},
		{"ready", 6, StateRunning, StateReady},
		{"ready", 7, StateRunning, StateRunning},
		{"busy", 5, StateRunning, StateRunning},
		{"unknown", 6, StateUnknown, StateUnknown},
	} {
		of := &tty{seq: 5, changed: func() {}}
		of.learn(wire.Foreground{Ready: wire.Readiness{State: c.state}, Seq: c.seq})
		first := of.reportLocked().State
		if err := of.apply(eventlog.Event{Seq: 6, Code: "x"}); err != nil {
			t.Fatal(err)
		}
		if later := of.reportLocked().State; first != c.want || later != c.later {
			t.Errorf("%s at %d: %s, and then %s; want %s, and then %s", c.state, c.seq, first, later, c.want, c.later)
		}
	}
}
