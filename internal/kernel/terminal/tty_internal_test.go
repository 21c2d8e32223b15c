package terminal

import (
	"testing"

	"den/internal/wire"
)

// A program that waits is ready once the agent can be shown all that it printed
// before.
func TestReadyWithAllOutput(t *testing.T) {
	for _, c := range []struct {
		state string
		seq   uint64 // of the look
		want  string
	}{
		{"ready", 5, StateReady},
		{"ready", 6, StateRunning},
		{"busy", 5, StateRunning},
		{"unknown", 6, StateUnknown},
	} {
		of := &tty{seq: 5}
		of.learn(wire.Foreground{Ready: wire.Readiness{State: c.state}, Seq: c.seq})
		if of.state != c.want {
			t.Errorf("%s at %d: %s, want %s", c.state, c.seq, of.state, c.want)
		}
	}
}
