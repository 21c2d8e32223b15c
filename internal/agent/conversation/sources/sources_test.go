package sources_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"den/internal/agent/conversation"
	"den/internal/agent/conversation/sources"
	"den/internal/base/fault"
)

func agent(t *testing.T, vendor string) sources.Agent {
	return sources.Agent{
		Vendor: vendor, Dir: filepath.Join(t.TempDir(), "source"), Env: map[string]string{"HOME": t.TempDir()}, Version: "test",
		Processes: func(context.Context) ([]int, error) { return nil, nil },
		Title:     func(context.Context) (string, error) { return "", fault.Errorf(fault.NotRunning, "it has ended") },
	}
}

// What Prepare keeps is all that a new keeper needs; nobody else may read it,
// and a secret is in no argument.
func TestPrepareAndOpen(t *testing.T) {
	for _, vendor := range sources.Known() {
		t.Run(vendor, func(t *testing.T) {
			a := agent(t, vendor)
			launch, err := a.Prepare([]string{"/opt/bin/" + vendor, "--model", "m"})
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range launch.Env {
				if slices.ContainsFunc(launch.Argv, func(arg string) bool { return strings.Contains(arg, secret) }) {
					t.Errorf("a secret is in %q", launch.Argv)
				}
			}
			if fi, err := os.Stat(filepath.Join(a.Dir, "source.json")); err == nil && fi.Mode().Perm() != 0o600 {
				t.Errorf("others may read it: %v", fi.Mode())
			}
			if fi, err := os.Stat(a.Dir); err == nil && fi.Mode().Perm() != 0o700 {
				t.Errorf("others may look in: %v", fi.Mode())
			}
			source, err := a.Open()
			if err != nil {
				t.Fatal(err)
			}
			if source.Name() != conversation.SourceName(vendor) {
				t.Errorf("it is called %q and %q", source.Name(), conversation.SourceName(vendor))
			}
			if s, err := source.State(t.Context()); err != nil || s.Activity != conversation.Gone || s.Source != source.Name() {
				t.Errorf("without a process it is %+v, %v", s, err)
			}
			if err := source.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoSource(t *testing.T) {
	for name, a := range map[string]sources.Agent{"no preset": agent(t, ""), "a shell": agent(t, "shell"), "not prepared": agent(t, "opencode")} {
		if _, err := a.Open(); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	silent := agent(t, "claude")
	silent.Processes = nil
	if _, err := silent.Open(); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a provider that does not tell processes: %v", err)
	}
	// A command that only ends in the agent is started as it is.
	wrapped := agent(t, "codex")
	argv := []string{"sh", "-c", "nice codex"}
	launch, err := wrapped.Prepare(argv)
	if fault.KindOf(err) != fault.Unsupported || !slices.Equal(launch.Argv, argv) {
		t.Errorf("%q, %v", launch.Argv, err)
	}
}

// What was kept of one start is not taken for another's.
func TestPrepareForgets(t *testing.T) {
	a := agent(t, "opencode")
	if _, err := a.Prepare([]string{"opencode"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prepare([]string{"opencode", "--port", "1"}); fault.KindOf(err) != fault.Unsupported {
		t.Fatalf("%v", err)
	}
	if _, err := a.Open(); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("%v", err)
	}
}
