package acceptance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
)

// A fakeAgent is what a coding agent is behind its protocol: a session in a
// file, a model, and a tool that runs commands. fakeClaude and fakeCodex are
// two protocols over it, so that tests drive the real drivers without the
// vendors' programs.
type fakeAgent struct {
	id       string
	file     string
	messages []fakeMessage
}

// fakeMessage is one of Chat Completions, which is what a fakeAgent speaks
// with its model.
type fakeMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []fakeCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type fakeCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// fakeTool is the name of the one tool.
const fakeTool = "shell"

// fakeModelVariable names the variable with the model's address.
const fakeModelVariable = "FAKE_MODEL"

// openFakeAgent begins a session, or goes on with one, which may not be there.
func openFakeAgent(resume string) (*fakeAgent, bool) {
	id := resume
	if id == "" {
		id = strings.ToLower(rand.Text())
	}
	a := &fakeAgent{id: id, file: filepath.Join(os.Getenv("HOME"), ".fake", id+".json")}
	if resume == "" {
		return a, true
	}
	data, err := os.ReadFile(a.file)
	return a, err == nil && json.Unmarshal(data, &a.messages) == nil
}

func (a *fakeAgent) add(m fakeMessage) {
	a.messages = append(a.messages, m)
	data, err := json.Marshal(a.messages)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(a.file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(a.file, data, 0o600)
	}
	if err != nil {
		fakeFatal(err)
	}
}

// fakeVersion answers --version.
func fakeVersion() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		os.Stdout.WriteString("0.0.0 (fake)\n")
		os.Exit(0)
	}
}

func fakeFatal(err error) {
	os.Stderr.WriteString("fake agent: " + err.Error() + "\n")
	os.Exit(3)
}

// A fakeClient is whom an agent tells what it does, and asks.
type fakeClient interface {
	said(text string)
	// mayRun asks for permission.
	mayRun(ctx context.Context, call, command string) bool
	ran(call, command, output string, denied bool)
	// pauses tells that the agent would try again after a while, and reports
	// whether it does.
	pauses(status int, pause time.Duration) bool
}

// fakeFailure is an answer of the model that is none.
type fakeFailure struct {
	status  int // 0: the connection broke
	message string
}

// turn works on a prompt. A turn whose context ended returns its error.
func (a *fakeAgent) turn(ctx context.Context, prompt string, client fakeClient) (string, *fakeFailure, error) {
	a.add(fakeMessage{Role: "user", Content: prompt})
	last := ""
	for {
		reply, failure := a.askModel(ctx, client)
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		if failure != nil {
			return "", failure, nil
		}
		a.add(reply)
		if reply.Content != "" {
			last = reply.Content
			client.said(last)
		}
		if len(reply.ToolCalls) == 0 {
			return last, nil, nil
		}
		for _, call := range reply.ToolCalls {
			a.use(ctx, call, client)
		}
	}
}

func (a *fakeAgent) use(ctx context.Context, call fakeCall, client fakeClient) {
	var input struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal([]byte(call.Function.Arguments), &input); err != nil {
		fakeFatal(err)
	}
	output, denied := "permission was denied", true
	if client.mayRun(ctx, call.ID, input.Command) {
		said, err := exec.CommandContext(ctx, "sh", "-c", input.Command).CombinedOutput()
		output, denied = string(said), false
		if err != nil {
			output += err.Error()
		}
	}
	a.add(fakeMessage{Role: "tool", Content: output, ToolCallID: call.ID})
	client.ran(call.ID, input.Command, output, denied)
}

// askModel asks once, and once more after the pause that the model asks for.
func (a *fakeAgent) askModel(ctx context.Context, client fakeClient) (fakeMessage, *fakeFailure) {
	reply, failure, pause := a.post(ctx)
	if failure == nil || pause == 0 || !client.pauses(failure.status, pause) {
		return reply, failure
	}
	select {
	case <-time.After(pause):
		reply, failure, _ = a.post(ctx)
	case <-ctx.Done():
	}
	return reply, failure
}

func (a *fakeAgent) post(ctx context.Context) (reply fakeMessage, failure *fakeFailure, pause time.Duration) {
	body, err := json.Marshal(map[string]any{
		"model": "stub-model", "messages": a.messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": fakeTool}}},
	})
	if err != nil {
		fakeFatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv(fakeModelVariable), bytes.NewReader(body))
	if err != nil {
		fakeFatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply, &fakeFailure{message: err.Error()}, 0
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil {
		return reply, &fakeFailure{message: err.Error()}, 0
	}
	if response.StatusCode != http.StatusOK {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 where there is none
		return reply, &fakeFailure{status: response.StatusCode, message: strings.TrimSpace(string(said))}, time.Duration(seconds) * time.Second
	}
	var answer struct {
		Choices []struct {
			Message fakeMessage `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(said, &answer); err != nil || len(answer.Choices) != 1 {
		return reply, &fakeFailure{message: errors.Join(err, errors.New("the answer is cut off")).Error()}, 0
	}
	return answer.Choices[0].Message, nil, 0
}

// fakeWriter writes JSON lines, whole.
type fakeWriter struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func newFakeWriter() *fakeWriter { return &fakeWriter{enc: json.NewEncoder(os.Stdout)} }

func (w *fakeWriter) write(v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.enc.Encode(v); err != nil {
		os.Exit(1) // nobody listens
	}
}

// fakeHome has the fake agents under the names of the real ones.
func fakeHome(t *testing.T, stub *modelstub.Server, name string) *realcli.Home {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "den-fake-") // short: sockets go below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(root, "bin")
	h := &realcli.Home{Program: filepath.Join(bin, name), Work: filepath.Join(root, "work"), Dir: filepath.Join(root, "home")}
	for _, dir := range []string{bin, h.Work, h.Dir, filepath.Join(root, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, agent := range []string{"claude", "codex"} {
		program := filepath.Join(bin, "fake-"+agent) // the name by which the test binary knows what it is
		if err := os.Symlink(self, program); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, agent), []byte("#!/bin/sh\nexec "+program+" \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.Env = []string{
		"HOME=" + h.Dir, "TMPDIR=" + filepath.Join(root, "tmp"), "PATH=" + bin + ":" + os.Getenv("PATH"),
		"LC_ALL=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash", "TZ=UTC", "GORACE=atexit_sleep_ms=0",
		fakeModelVariable + "=" + stub.URL() + "/v1/chat/completions",
	}
	return h
}
