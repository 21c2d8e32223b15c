package claude

import (
	"bytes"
	"os"
	"testing"
)

// How the last turn ended, as Claude Code wrote it down: with a login that was
// lost, a limit, an error of the server, and a model that is not there.
func TestFailures(t *testing.T) {
	for file, want := range map[string]string{
		"failed-login":  "Please run /login · API Error: 403 stub: Forbidden",
		"failed-limit":  "API Error: Request rejected (429) · stub: Too Many Requests",
		"failed-server": "API Error: 500 stub: Internal Server Error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:8080).",
		"failed-model":  "There's an issue with the selected model (claude-opus-5-5). It may not exist or you may not have access to it. Run /model to pick a different model.",
		"transcript":    "",
	} {
		lines, err := os.ReadFile("testdata/" + file + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if got := failureIn(lines); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		// What comes then is another turn.
		for _, next := range []string{
			`{"type":"user","message":{"content":"once more"}}`,
			`{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"hello"}]}}`,
		} {
			if got := failureIn(append(bytes.Clone(lines), next+"\n"...)); got != "" {
				t.Errorf("%s and %s: %q", file, next, got)
			}
		}
		// What others write is no part of it.
		for _, aside := range []string{
			`{"type":"assistant","isSidechain":true,"message":{"id":"a","content":[{"type":"text","text":"hello"}]}}`,
			`{"type":"user","isMeta":true,"message":{"content":"caveat"}}`,
			`{"type":"system","subtype":"turn_duration","durationMs":1}`,
			`{garbage`,
		} {
			if got := failureIn(append(bytes.Clone(lines), aside+"\n"...)); got != want {
				t.Errorf("%s and %s: %q", file, aside, got)
			}
		}
	}
}

func failureIn(lines []byte) string {
	var last lastTurn
	for line := range bytes.Lines(lines) {
		last.apply(line)
	}
	return last.failed
}
