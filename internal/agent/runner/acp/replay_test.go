package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/local"
)

var update = flag.Bool("update", false, "write the golden files")

// lines collects text from many goroutines.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n") + "\n"
}

// tell writes an event as one line.
func tell(e runner.Event) string {
	switch {
	case e.Message != nil:
		b := e.Message.Content[0]
		switch b.Type {
		case runner.BlockText:
			return fmt.Sprintf("says %q", b.Text)
		case runner.BlockThinking:
			return fmt.Sprintf("thinks %q", b.Thinking)
		}
		return fmt.Sprintf("uses %s %s %s", b.Name, b.ID, b.Input)
	case e.Result != nil:
		return fmt.Sprintf("tool %s ended: failed %v, denied %v, %q", e.Result.ID, e.Result.Failed, e.Result.Denied, e.Result.Output)
	case e.Size != nil:
		return fmt.Sprintf("context %+v", *e.Size)
	case e.Usage != nil:
		return fmt.Sprintf("used %+v", *e.Usage)
	}
	return strings.TrimSpace(string(e.Kind) + " " + e.Text)
}

// What real agents said is understood, and what den answers is what they took
// then. The golden files are the events of each turn.
func TestRecordings(t *testing.T) {
	for _, c := range []struct {
		agent string
		mode  string // was set in the recording
		sums  bool
	}{
		{agent: "opencode"}, {agent: "gemini"}, {agent: "copilot", sums: true},
		{agent: "claude-agent-acp"}, {agent: "codex-acp", mode: "read-only"}, {agent: "qwen", mode: "default"}, {agent: "cline"},
	} {
		t.Run(c.agent, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", c.agent+".jsonl")
			got := playRecording(t, file, acp.Driver{Files: true, SumsUsage: c.sums}, c.mode)
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// playRecording drives an agent that plays a recording through the prompts of
// then, and returns what happened.
func playRecording(t *testing.T, file string, d acp.Driver, mode string) string {
	t.Helper()
	var happened, logged lines
	var asked lines  // on their own: agents go on while they ask
	denying := false // set between turns
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	o := runner.Options{
		Spawn: local.Spawner{Mark: t.Name()}, Command: []string{os.Args[0]}, Dir: t.TempDir(),
		Env: map[string]string{"ACP_TEST_REPLAY": path}, Extra: map[string]string{},
		Ask: func(_ context.Context, r permission.Request) permission.Decision {
			asked.add(fmt.Sprintf("asks %s %s, command %q, dir %q, paths %q: %s", r.Kind, r.Tool, r.Command, r.Dir, r.Paths, r.Text))
			return permission.Decision{Allow: !denying}
		},
		Log: logged.add,
	}
	if mode != "" {
		o.Extra[acp.ExtraMode] = mode
	}
	s, err := d.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, logged.String())
	}
	defer func() {
		if exit := s.Close(); exit.Code != 0 {
			t.Errorf("%+v\n%s", exit, logged.String())
		}
	}()
	happened.add("session " + s.ID())
	for _, prompt := range prompts(t, file) {
		happened.add("\nprompt " + prompt)
		denying = strings.HasPrefix(prompt, "run again")
		interrupted := false
		result, err := s.Turn(t.Context(), prompt, func(e runner.Event) {
			happened.add(tell(e))
			if strings.HasPrefix(prompt, "[[slow") && e.Kind == runner.Partial && !interrupted {
				interrupted = true
				if err := s.Interrupt(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		for _, question := range asked.take() {
			happened.add(question)
		}
		happened.add(fmt.Sprintf("result %q, cancelled %v, %v", result.Text, result.Cancelled, err))
		var failure *runner.Failure
		if errors.As(err, &failure) && failure.Class == runner.Gone {
			t.Fatalf("%v\n%s", err, logged.String())
		}
	}
	return happened.String()
}

func prompts(t *testing.T, file string) []string {
	t.Helper()
	entries, err := readRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		var m struct {
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if e.Dir == "in" && json.Unmarshal(e.Msg, &m) == nil && m.Method == "session/prompt" {
			all = append(all, m.Params.Prompt[0].Text)
		}
	}
	return all
}
