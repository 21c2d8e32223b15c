package protocol

import (
	"testing"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/harness/ipc"
)

func TestStateIsAsOldAsTheHarnessSays(t *testing.T) {
	since := time.Unix(1000, 0)
	if s := stateOf(ipc.AgentStatus{State: "ready", Since: since}); s.Activity != conversation.Ready || !s.Since.Equal(since) {
		t.Errorf("%+v", s)
	}
}
