package runner

import (
	"fmt"
	"path/filepath"
	"time"

	"den/internal/base/fault"
	"den/internal/base/statefile"
)

const stateVersion = 1

// state is what a Runner remembers beside its queue.
type state struct {
	V         int       `json:"v"`
	Driver    string    `json:"driver"`
	SessionID string    `json:"session_id,omitempty"`
	Turns     int       `json:"turns"`
	LastTurn  time.Time `json:"last_turn,omitzero"`
	// Clear is that the session is to be given up before the next turn.
	Clear bool `json:"clear,omitempty"`
	// Paused is why no turn is begun, "" while turns are.
	Paused string `json:"paused,omitempty"`
}

func stateFile(dir string) string { return filepath.Join(dir, "runner.json") }

// readState reads what an earlier Runner left. A session of another vendor
// cannot be resumed.
func readState(dir, driver string) (state, error) {
	s, _, err := statefile.Load[state](stateFile(dir), stateVersion, statefile.Large)
	if s.Driver != driver {
		s.Driver, s.SessionID = driver, ""
	}
	if err != nil {
		return s, statefile.Advise(fmt.Errorf("read the agent's session: %w", err), "remove the file to begin a new session")
	}
	return s, nil
}

func (s state) write(dir string) error {
	if err := statefile.Save(stateFile(dir), stateVersion, s); err != nil {
		return fault.Errorf(fault.Storage, "write the agent's session: %w", err)
	}
	return nil
}
