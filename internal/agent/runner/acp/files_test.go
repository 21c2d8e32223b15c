package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
)

func readRequest(t *testing.T, path string, more ...any) json.RawMessage {
	t.Helper()
	params := map[string]any{"sessionId": "s1", "path": path}
	for i := 0; i < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	return request(t, "fs/read_text_file", params)
}

func writeRequest(t *testing.T, path, content string) json.RawMessage {
	t.Helper()
	return request(t, "fs/write_text_file", map[string]any{"sessionId": "s1", "path": path, "content": content})
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// answer has the agent ask one thing and returns what it got.
func answer(t *testing.T, s runner.Session, ask json.RawMessage) string {
	t.Helper()
	events, _, err := play(t, s, script{Ask: []json.RawMessage{ask}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(said(events))
}

func TestFiles(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), "the secret\n")
	st := newStage(t)
	st.driver.Files = true
	dir := st.options.Dir
	writeFile(t, filepath.Join(dir, "lines"), "one\ntwo\nthree\n")
	writeFile(t, filepath.Join(dir, "binary"), "\xff\xfe")
	for name, target := range map[string]string{"out": outside, "inner": "lines", "absolute": filepath.Join(outside, "secret")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []permission.Request
	st.options.Ask = func(_ context.Context, r permission.Request) permission.Decision {
		asked = append(asked, r)
		return permission.Decision{Allow: !strings.Contains(r.Text, "denied"), Reason: "because"}
	}
	s := st.mustOpen(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name string
		ask  json.RawMessage
		want string // a part of the answer
		asks int
	}{
		{"read", readRequest(t, in("lines")), `{"content":"one\ntwo\nthree\n"}`, 0},
		{"lines", readRequest(t, in("lines"), "line", 2, "limit", 1), `{"content":"two\n"}`, 0},
		{"past the end", readRequest(t, in("lines"), "line", 9), `{"content":""}`, 0},
		{"link within", readRequest(t, in("inner")), `one`, 0},
		{"not there", readRequest(t, in("nothing")), `-32002`, 0},
		{"no text", readRequest(t, in("binary")), `UTF-8`, 0},
		{"pipe", readRequest(t, in("pipe")), `no regular file`, 0},
		{"device", readRequest(t, "/dev/zero"), `no regular file`, 1},
		{"directory", readRequest(t, dir), `no regular file`, 0},
		{"link out", readRequest(t, in("out/secret")), `escapes`, 0},
		{"absolute link out", readRequest(t, in("absolute")), `escapes`, 0},
		{"dots", readRequest(t, dir+"/../x"), `shortest form`, 0},
		{"relative", readRequest(t, "lines"), `absolute`, 0},
		{"outside", readRequest(t, filepath.Join(outside, "secret")), `the secret`, 1},
		{"outside, denied", readRequest(t, filepath.Join(outside, "denied")), `because`, 1},
		{"another session's", request(t, "fs/read_text_file", map[string]string{"sessionId": "s2", "path": in("lines")}), `no session`, 0},
		{"write", writeRequest(t, in("new/deep/file"), "text"), `{}`, 1},
		{"write, shorter", writeRequest(t, in("lines"), "1"), `{}`, 1},
		{"write, denied", writeRequest(t, in("denied"), "text"), `because`, 1},
		{"write by a link out", writeRequest(t, in("out/made"), "text"), `escapes`, 1},
		{"write to a pipe", writeRequest(t, in("pipe"), "text"), `pipe`, 1},
		{"write outside", writeRequest(t, filepath.Join(outside, "made"), "text"), `{}`, 1},
		{"write outside, denied", writeRequest(t, filepath.Join(outside, "denied"), "text"), `because`, 1},
	} {
		asked = nil
		if got := answer(t, s, c.ask); !strings.Contains(got, c.want) || len(asked) != c.asks {
			t.Errorf("%s: %s, asked %+v; want %s", c.name, got, asked, c.want)
		}
	}
	for path, want := range map[string]string{in("new/deep/file"): "text", in("lines"): "1", filepath.Join(outside, "made"): "text"} {
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(outside, "*")); len(names) != 2 || err != nil {
		t.Errorf("outside: %q, %v", names, err)
	}
}

// Who allowed an edit is not asked again when the agent writes the file.
func TestFileIsAskedForOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.driver.Files = true
	path := filepath.Join(st.options.Dir, "file")
	var asked atomic.Int32
	st.options.Ask = func(context.Context, permission.Request) permission.Decision {
		asked.Add(1)
		return permission.Decision{Allow: true}
	}
	s := st.mustOpen(t)
	edit := request(t, "session/request_permission", map[string]any{
		"sessionId": "s1", "options": []map[string]string{{"optionId": "y", "kind": "allow_once"}},
		"toolCall": map[string]any{"toolCallId": "t", "kind": "edit", "locations": []map[string]string{{"path": path}}},
	})
	if _, _, err := play(t, s, script{Ask: []json.RawMessage{edit, writeRequest(t, path, "a"), writeRequest(t, path, "b")}}); err != nil || asked.Load() != 1 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
	if answer(t, s, writeRequest(t, path, "c")); asked.Load() != 2 {
		t.Errorf("asked %d times: what is allowed is so for one turn", asked.Load())
	}
}
