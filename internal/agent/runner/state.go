package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
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
	fresh := state{V: stateVersion, Driver: driver}
	data, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, fault.Errorf(fault.Storage, "read the agent's session: %w", err)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return fresh, fault.Hintf(fault.Errorf(fault.Storage, "read the agent's session %s: %w", stateFile(dir), err), "remove the file to begin a new session")
	}
	if s.V > stateVersion {
		return fresh, fault.Hintf(fault.Errorf(fault.Protocol, "%s has version %d, this den knows %d", stateFile(dir), s.V, stateVersion), "use the newer den")
	}
	if s.Driver != driver {
		s.Driver, s.SessionID = driver, ""
	}
	s.V = stateVersion
	return s, nil
}

func (s state) write(dir string) error {
	if err := atomicfile.WriteJSON(stateFile(dir), s); err != nil {
		return fault.Errorf(fault.Storage, "write the agent's session: %w", err)
	}
	return nil
}
