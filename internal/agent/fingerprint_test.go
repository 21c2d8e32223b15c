package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/place/workspace"
)

// What the file adds makes the agent another one.
func TestFingerprintExtra(t *testing.T) {
	of := func(extra workspace.Env) agent.Fingerprint {
		c, err := agent.ConfigOf("w", "s", &workspace.Agent{Name: "a", StartCommand: []string{"x"}, FingerprintExtra: extra})
		if err != nil {
			t.Fatal(err)
		}
		return agent.FingerprintOf(c)
	}
	was := of(workspace.Env{"release": "1"})
	if got := was.Diff(of(workspace.Env{"release": "2"})); !slices.Equal(got, []string{"extra.fingerprint_extra.release changed"}) {
		t.Errorf("%q", got)
	}
	if got := was.Diff(of(nil)); !slices.Equal(got, []string{"extra.fingerprint_extra.release removed"}) {
		t.Errorf("%q", got)
	}
}

func TestFingerprintTellsWhatChanged(t *testing.T) {
	base := func() agent.SessionConfig {
		return agent.SessionConfig{Command: []string{"claude", "--x"}, Prompt: "p", Env: values(map[string]string{"A": "1", "B": "2"}), FingerprintExtra: map[string]string{"e": "1"}}
	}
	was := agent.FingerprintOf(base())
	for range 20 {
		if agent.FingerprintOf(base()).String() != was.String() {
			t.Fatal("the same configuration hashes differently")
		}
	}
	for _, c := range []struct {
		change func(*agent.SessionConfig)
		want   []string
	}{
		{func(c *agent.SessionConfig) { c.Command = []string{"claude --x"} }, []string{"command changed"}},
		{func(c *agent.SessionConfig) { c.Prompt = "q" }, []string{"prompt changed"}},
		{func(c *agent.SessionConfig) { c.Env = values(map[string]string{"A": "2", "C": "2"}) }, []string{"env.A changed", "env.B removed", "env.C added"}},
		{func(c *agent.SessionConfig) { c.FingerprintExtra["e"] = "2" }, []string{"extra.e changed"}},
		{func(c *agent.SessionConfig) { c.Env.Values["e"] = "1"; delete(c.FingerprintExtra, "e") }, []string{"env.e added", "extra.e removed"}},
		{func(c *agent.SessionConfig) {
			c.WorkDir, c.Nudge, c.Prime = "/x", "n", "prime"
			c.Hints = workspace.Hints{ReadyPromptPrefix: "> ", ReadyDelayMs: 3, ProcessNames: []string{"x"}, PreStart: []string{"y"}, OverlayDir: "z"}
		}, nil},
	} {
		next := base()
		c.change(&next)
		if got := was.Diff(agent.FingerprintOf(next)); !slices.Equal(got, c.want) {
			t.Errorf("Diff = %q, want %q", got, c.want)
		}
	}
	back, err := agent.ParseFingerprint(was.String())
	if err != nil || back.Diff(was) != nil {
		t.Errorf("read back: %v %v", back, err)
	}
	if _, err := agent.ParseFingerprint(`{"v":99}`); fault.KindOf(err) != fault.Protocol || !strings.Contains(err.Error(), "99") {
		t.Errorf("a newer one: %v", err)
	}
}

func TestBeacon(t *testing.T) {
	at := time.Date(2026, 3, 1, 15, 4, 5, 0, time.UTC)
	if got := agent.Beacon("city", "dir/worker", at, ""); got != "[city] dir/worker . 2026-03-01T15:04:05" {
		t.Errorf("%q", got)
	}
	if got := agent.Beacon("c", "w", at, "Run this."); got != "[c] w . 2026-03-01T15:04:05\n\nRun this." {
		t.Errorf("%q", got)
	}
}
