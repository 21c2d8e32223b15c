package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
)

// noted is a Terminals that notes what it is asked for; package terminals
// tests the real one.
type noted struct {
	mu    sync.Mutex
	calls []string
	specs []acp.TerminalSpec

	printed int
}

func (n *noted) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, fmt.Sprintf(format, args...))
}

func (n *noted) Create(_ context.Context, spec acp.TerminalSpec) (string, error) {
	n.note("create %q in %s", spec.Argv, spec.Dir)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.specs = append(n.specs, spec)
	return fmt.Sprint("term", len(n.specs)), nil
}

func (n *noted) Output(context.Context, string) (acp.TerminalOutput, error) {
	return acp.TerminalOutput{Text: "printed", Truncated: true, Exit: &acp.TerminalExit{Code: 137, Signal: "SIGKILL"}}, nil
}

func (n *noted) Wait(context.Context, string) (acp.TerminalExit, error) {
	return acp.TerminalExit{Code: 3}, nil
}

// Progress tells that each terminal prints something whenever it is asked.
func (n *noted) Progress(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.printed++
	return fmt.Sprint(id, n.printed)
}

func (n *noted) Kill(_ context.Context, id string) error    { n.note("kill %s", id); return nil }
func (n *noted) Release(_ context.Context, id string) error { n.note("release %s", id); return nil }

func TestTerminals(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	terminals := &noted{}
	st.driver.Terminals = terminals
	var asked []permission.Request
	st.options.Ask = func(_ context.Context, r permission.Request) permission.Decision {
		asked = append(asked, r)
		return permission.Decision{Allow: !strings.Contains(r.Command, "rm")}
	}
	s := st.mustOpen(t)
	create := func(command string, more map[string]any) json.RawMessage {
		params := map[string]any{"sessionId": "s1", "command": command}
		for k, v := range more {
			params[k] = v
		}
		return request(t, "terminal/create", params)
	}
	of := func(method, id string) json.RawMessage {
		return request(t, "terminal/"+method, map[string]string{"sessionId": "s1", "terminalId": id})
	}
	for _, c := range []struct {
		ask  json.RawMessage
		want string
	}{
		{create("go", map[string]any{"args": []string{"test"}, "cwd": "/tmp", "env": []map[string]string{{"name": "A", "value": "1"}}, "outputByteLimit": 10}), `{"terminalId":"term1"}`},
		{create("echo a | wc", nil), `{"terminalId":"term2"}`},
		{create("rm", map[string]any{"args": []string{"-rf", "/"}}), `permission denied`},
		{create("", nil), `no command`},
		{create("ls", map[string]any{"cwd": "here"}), `absolute`},
		{of("output", "term1"), `{"exitStatus":{"signal":"SIGKILL"},"output":"printed","truncated":true}`},
		{of("wait_for_exit", "term1"), `{"exitCode":3}`},
		{of("kill", "term1"), `{}`},
		{of("release", "term1"), `{}`},
		{of("output", "term1"), `no terminal`},
		{of("output", "another"), `no terminal`},
	} {
		if got := answer(t, s, c.ask); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s; want %s", c.ask, got, c.want)
		}
	}
	w := s.(runner.Witness)
	if before, after := w.Signs(), w.Signs(); before == after || !strings.HasPrefix(after, "term2 term2") {
		t.Errorf("a command that prints is no sign of life: %q, %q", before, after)
	}
	if first := terminals.specs[0]; first.Env["A"] != "1" || first.Env["ACP_TEST_AGENT"] != "puppet" || first.OutputLimit != 10 {
		t.Errorf("%+v", first)
	}
	if r := asked[0]; r.Kind != permission.Execute || r.Command != "go test" || r.Dir != "/tmp" {
		t.Errorf("%+v", r)
	}
	s.Close()
	want := []string{`create ["go" "test"] in /tmp`, `create ["sh" "-c" "echo a | wc"] in ` + st.options.Dir, "kill term1", "release term1", "release term2"}
	if !slices.Equal(terminals.calls, want) {
		t.Errorf("%q, want %q", terminals.calls, want)
	}
}

// Who allowed a command is not asked again when the agent has it run.
func TestTerminalIsAskedForOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.driver.Terminals = &noted{}
	var asked []string
	st.options.Ask = func(_ context.Context, r permission.Request) permission.Decision {
		asked = append(asked, r.Command)
		return permission.Decision{Allow: true}
	}
	allowed := request(t, "session/request_permission", map[string]any{
		"sessionId": "s1", "options": []map[string]string{{"optionId": "y", "kind": "allow_once"}},
		"toolCall": map[string]any{"toolCallId": "t", "kind": "execute", "rawInput": map[string]string{"command": "make all"}},
	})
	run := func(args ...string) json.RawMessage {
		return request(t, "terminal/create", map[string]any{"sessionId": "s1", "command": args[0], "args": args[1:]})
	}
	_, _, err := play(t, st.mustOpen(t), script{Ask: []json.RawMessage{allowed, run("make", "all"), run("bash", "-lc", "make all"), run("make", "install")}})
	if want := []string{"make all", "make install"}; err != nil || !slices.Equal(asked, want) {
		t.Errorf("asked for %q, %v; want %q", asked, err, want)
	}
}
