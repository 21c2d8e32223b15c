package toolsocket_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/ticks/toolsocket"
)

// serve answers calls by a function until the test ends.
func serve(t *testing.T, answer func(context.Context, toolsocket.Call) (toolsocket.Answer, error)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := rpc.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { toolsocket.NewServer("test", answer).Serve(ctx, l) })
	t.Cleanup(func() { cancel(); serving.Wait() })
	return path
}

func TestUse(t *testing.T) {
	socket := serve(t, func(_ context.Context, c toolsocket.Call) (toolsocket.Answer, error) {
		switch c.Tool {
		case "wait":
			return toolsocket.Answer{Text: "waited " + string(c.Arguments), Value: json.RawMessage(`{"n":1}`)}, nil
		case "type":
			return toolsocket.Answer{Text: "not logged in", Failed: true}, nil
		}
		return toolsocket.Answer{}, fault.Errorf(fault.NotFound, "no tool '%s'", c.Tool)
	})
	got, err := toolsocket.Use(t.Context(), socket, "test", toolsocket.Call{Tool: "wait", Arguments: json.RawMessage(`{"timeout":1}`)})
	if err != nil || got.Text != `waited {"timeout":1}` || got.Failed || string(got.Value) != `{"n":1}` {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = toolsocket.Use(t.Context(), socket, "test", toolsocket.Call{Tool: "type"}); err != nil || !got.Failed {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = toolsocket.Use(t.Context(), socket, "test", toolsocket.Call{Tool: "fly"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if _, err = toolsocket.Use(t.Context(), socket+"-none", "test", toolsocket.Call{Tool: "wait"}); err == nil || fault.HintOf(err) == "" {
		t.Errorf("without a tick: %v", err)
	}
}

// Two calls of one agent run at the same time: it types while it waits.
func TestCallsAtTheSameTime(t *testing.T) {
	typed := make(chan struct{})
	socket := serve(t, func(ctx context.Context, c toolsocket.Call) (toolsocket.Answer, error) {
		if c.Tool == "type" {
			close(typed)
			return toolsocket.Answer{Text: "sent"}, nil
		}
		select {
		case <-typed:
			return toolsocket.Answer{Text: "seen"}, nil
		case <-ctx.Done():
			return toolsocket.Answer{}, ctx.Err()
		}
	})
	waited := make(chan error, 1)
	go func() {
		_, err := toolsocket.Use(t.Context(), socket, "test", toolsocket.Call{Tool: "wait"})
		waited <- err
	}()
	if _, err := toolsocket.Use(t.Context(), socket, "test", toolsocket.Call{Tool: "type"}); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// Models read the list in every tick: its size is bounded, and it is valid.
func TestList(t *testing.T) {
	size := 0
	var names []string
	for _, tool := range toolsocket.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
		names = append(names, tool.Name)
		if !json.Valid([]byte(tool.Schema)) {
			t.Errorf("%s: the schema is no JSON: %s", tool.Name, tool.Schema)
		}
	}
	if strings.Join(names, " ") != "login open type wait close" {
		t.Errorf("tools %v", names)
	}
	if size > 2400 {
		t.Errorf("the list has %d bytes", size)
	}
}
