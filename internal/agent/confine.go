package agent

import (
	"context"
	"maps"
	"slices"
	"strings"

	"den/internal/sandbox"
)

// sandbox makes the agent's sandbox.
func (m *Managed) sandbox(ctx context.Context) (string, Outcome, error) {
	note, err := m.confine.Prepare(ctx)
	return note, Done, err
}

// confined is a command with its variables as it is started: in the sandbox,
// for an agent that has one.
func (m *Managed) confined(argv []string, env map[string]string) []string {
	if m.confine == nil {
		return argv
	}
	env[sandbox.EnvNames] = strings.Join(slices.Sorted(maps.Keys(env)), ",")
	return m.confine.Wrap(argv)
}
