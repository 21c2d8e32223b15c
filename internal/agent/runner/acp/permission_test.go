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
)

// permissionRequest asks with options of these kinds, whose ids say nothing.
func permissionRequest(t *testing.T, kinds ...string) json.RawMessage {
	t.Helper()
	var options []map[string]string
	for i, kind := range kinds {
		options = append(options, map[string]string{"optionId": fmt.Sprint("option ", i), "kind": kind, "name": "Yes"})
	}
	return request(t, "session/request_permission", map[string]any{
		"sessionId": "s1", "options": options,
		"toolCall": map[string]any{
			"toolCallId": "t1", "title": "do it", "kind": "execute",
			"rawInput": map[string]any{"command": []string{"rm", "a b"}, "cwd": "/elsewhere"}, "locations": []map[string]string{{"path": "/x"}},
		},
	})
}

// Options are chosen by their kind.
func TestPermissionKinds(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	var decision permission.Decision // set between turns
	st.options.Ask = func(context.Context, permission.Request) permission.Decision { return decision }
	s := st.mustOpen(t)
	yes, always := permission.Decision{Allow: true}, permission.Decision{Allow: true, Always: true}
	no, never := permission.Decision{}, permission.Decision{Always: true}
	for _, c := range []struct {
		decision permission.Decision
		kinds    []string
		chosen   int // -1 is cancelled
	}{
		{yes, []string{"reject_once", "allow_always", "allow_once"}, 2},
		{yes, []string{"allow_once", "allow_once", "reject_once"}, 0}, // qwen has several
		{yes, []string{"allow_always", "reject_once"}, -1},            // more than was allowed
		{yes, []string{"reject_once"}, -1},
		{yes, nil, -1},
		{always, []string{"allow_always", "allow_once"}, 1}, // den remembers, the agent goes on asking
		{always, []string{"reject_always", "allow_always"}, 1},
		{no, []string{"allow_once", "reject_always", "reject_once"}, 2},
		{no, []string{"allow_once", "reject_always"}, 1},
		{no, []string{"allow_once", "allow_always"}, -1},
		{never, []string{"reject_always", "reject_once"}, 1},
		{no, []string{"made_up"}, -1},
	} {
		decision = c.decision
		events, _, err := play(t, s, script{Ask: []json.RawMessage{permissionRequest(t, c.kinds...)}})
		want := `{"outcome":{"outcome":"cancelled"}}`
		if c.chosen >= 0 {
			want = fmt.Sprintf(`{"outcome":{"optionId":"option %d","outcome":"selected"}}`, c.chosen)
		}
		if err != nil || strings.TrimSpace(said(events)) != want {
			t.Errorf("%+v of %q: %q, %v; want %s", c.decision, c.kinds, said(events), err, want)
		}
		last := events[len(events)-1]
		if last.Result == nil || last.Result.Denied != !c.decision.Allow || last.Result.ID != "t1" {
			t.Errorf("%+v of %q: the tool's end is %+v", c.decision, c.kinds, last)
		}
	}
	if !strings.Contains(st.logged.String(), "no option") {
		t.Error("the log says nothing of options that do not fit")
	}
}

// What is asked for is told in the fields that policies read.
func TestPermissionRequest(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	var got permission.Request
	st.options.Ask = func(_ context.Context, r permission.Request) permission.Decision {
		got = r
		return permission.Decision{}
	}
	s := st.mustOpen(t)
	if _, _, err := play(t, s, script{Ask: []json.RawMessage{permissionRequest(t, "reject_once")}}); err != nil {
		t.Fatal(err)
	}
	if got.Kind != permission.Execute || got.Command != "rm 'a b'" || got.Dir != "/elsewhere" || !slices.Equal(got.Paths, []string{"/x"}) || got.Text != "do it" || got.Tool != "execute" || !json.Valid(got.Input) {
		t.Errorf("%+v", got)
	}
	edit := request(t, "session/request_permission", map[string]any{"sessionId": "s1", "options": nil, "toolCall": map[string]any{
		"toolCallId": "t2", "kind": "edit", "name": "write", "title": "sh -c 'true'", "rawInput": map[string]string{"file_path": "/c"},
		"locations": []map[string]string{{"path": "/a"}}, "content": []map[string]string{{"type": "diff", "path": "/b", "newText": "x"}},
	}})
	if _, _, err := play(t, s, script{Ask: []json.RawMessage{edit}}); err != nil {
		t.Fatal(err)
	}
	if got.Kind != permission.Edit || got.Command != "" || !slices.Equal(got.Paths, []string{"/a", "/b", "/c"}) || got.Tool != "write" {
		t.Errorf("%+v", got)
	}
	for input, want := range map[string]string{`{"pattern":"x"}`: "[.]", `{"pattern":"/etc/*"}`: "[]", `{"pattern":"../*"}`: "[]", `{"pattern":"x","path":"/etc"}`: "[/etc]", `{}`: "[]"} {
		search := request(t, "session/request_permission", map[string]any{"sessionId": "s1", "options": nil, "toolCall": map[string]any{
			"toolCallId": "t3", "kind": "search", "title": "x", "rawInput": json.RawMessage(input),
		}})
		if _, _, err := play(t, s, script{Ask: []json.RawMessage{search}}); err != nil {
			t.Fatal(err)
		}
		if got.Kind != permission.Read || fmt.Sprint(got.Paths) != want {
			t.Errorf("search %s: %+v, want the paths %s", input, got, want)
		}
	}
}

// A denial may end the turn.
func TestDenialInterrupts(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.options.Ask = func(context.Context, permission.Request) permission.Decision {
		return permission.Decision{Interrupt: true}
	}
	events, result, err := play(t, st.mustOpen(t), script{Ask: []json.RawMessage{permissionRequest(t, "reject_once")}})
	if err != nil || !result.Cancelled || !strings.Contains(said(events), "heard session/cancel") {
		t.Errorf("%q, %+v, %v", said(events), result, err)
	}
}

// The agent may take its question back.
func TestQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	ended := make(chan struct{})
	st.options.Ask = func(ctx context.Context, _ permission.Request) permission.Decision {
		<-ctx.Done()
		close(ended)
		return permission.Decision{}
	}
	s := st.mustOpen(t)
	var interrupting sync.WaitGroup
	interrupting.Go(func() {
		<-ended
		if err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	})
	defer interrupting.Wait()
	line := strings.TrimSuffix(string(permissionRequest(t, "allow_once")), "}") + `,"id":"w"}`
	_, result, err := play(t, s, script{Lines: []string{line, `{"method":"$/cancel_request","params":{"requestId":"w"}}`}, Hang: true})
	if err != nil || !result.Cancelled {
		t.Errorf("%+v, %v", result, err)
	}
}
