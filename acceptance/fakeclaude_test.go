package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// fakeClaude is a program that speaks Claude Code's stream-json.
func fakeClaude() {
	fakeVersion()
	resume := ""
	for _, arg := range os.Args[1:] {
		if id, ok := strings.CutPrefix(arg, "--resume="); ok {
			resume = id
		}
	}
	agent, found := openFakeAgent(resume)
	c := &claudeClient{agent: agent, out: newFakeWriter(), answers: map[string]chan bool{}}
	if !found {
		c.out.write(object{"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": []string{"No conversation found with session ID: " + resume}})
		os.Exit(1)
	}
	c.serve()
	os.Exit(0)
}

type object = map[string]any

// claudeLine is a line from den, of any type.
type claudeLine struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
	Message struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
	Response struct {
		RequestID string `json:"request_id"`
		Response  struct {
			Behavior string `json:"behavior"`
		} `json:"response"`
	} `json:"response"`
}

type claudeClient struct {
	agent *fakeAgent
	out   *fakeWriter

	mu       sync.Mutex // guards the fields below
	requests int
	answers  map[string]chan bool
	cancel   context.CancelFunc // of the running turn, or nil
}

func (c *claudeClient) serve() {
	prompts := make(chan claudeLine, 100) // more than a test sends at once
	var working sync.WaitGroup
	working.Go(func() {
		for p := range prompts {
			c.turn(p)
		}
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m claudeLine
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			fakeFatal(err)
		}
		switch m.Type {
		case "user":
			prompts <- m
		case "control_request":
			if m.Request.Subtype == "interrupt" {
				c.interrupt()
			}
			c.out.write(object{"type": "control_response", "response": object{"subtype": "success", "request_id": m.RequestID, "response": object{}}})
		case "control_response":
			c.mu.Lock()
			answer := c.answers[m.Response.RequestID]
			c.mu.Unlock()
			answer <- m.Response.Response.Behavior == "allow" // has room
		}
	}
	close(prompts)
	c.interrupt()
	working.Wait()
}

func (c *claudeClient) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

func (c *claudeClient) turn(p claudeLine) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	id := c.agent.id
	c.out.write(object{"type": "command_lifecycle", "command_uuid": p.UUID, "state": "queued", "session_id": id})
	c.out.write(object{"type": "command_lifecycle", "command_uuid": p.UUID, "state": "started", "session_id": id})
	c.out.write(object{"type": "system", "subtype": "init", "session_id": id, "model": "stub-model"})
	c.out.write(object{"type": "user", "isReplay": true, "uuid": p.UUID, "session_id": id})
	text, failure, err := c.agent.turn(ctx, p.Message.Content[0].Text, c)
	result := object{"type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": id, "user_message_uuids": []string{p.UUID}}
	switch {
	case err != nil:
		result["subtype"], result["is_error"], result["terminal_reason"] = "error_during_execution", true, "aborted_streaming"
	case failure != nil:
		result["is_error"], result["terminal_reason"] = true, "api_error"
		result["result"] = fmt.Sprintf("API Error: %d %s", failure.status, failure.message)
		if failure.status != 0 {
			result["api_error_status"] = failure.status
		}
	}
	c.out.write(result)
}

func (c *claudeClient) said(text string) {
	c.out.write(object{"type": "assistant", "message": object{"model": "stub-model", "content": []object{{"type": "text", "text": text}}}})
}

func (c *claudeClient) mayRun(ctx context.Context, call, command string) bool {
	input := object{"command": command}
	c.out.write(object{"type": "assistant", "message": object{"model": "stub-model", "content": []object{{"type": "tool_use", "id": call, "name": "Bash", "input": input}}}})
	c.mu.Lock()
	c.requests++
	id := fmt.Sprint("ask-", c.requests)
	answer := make(chan bool, 1)
	c.answers[id] = answer
	c.mu.Unlock()
	c.out.write(object{"type": "control_request", "request_id": id, "request": object{"subtype": "can_use_tool", "tool_name": "Bash", "input": input, "tool_use_id": call}})
	select {
	case allowed := <-answer:
		return allowed
	case <-ctx.Done():
		return false
	}
}

func (c *claudeClient) ran(call, _, output string, denied bool) {
	line := object{"type": "user", "message": object{"content": []object{{"type": "tool_result", "tool_use_id": call, "is_error": denied, "content": output}}}}
	if denied {
		line["tool_result_meta"] = []object{{"id": call, "non_execution_kind": "denied"}}
	}
	c.out.write(line)
}

func (c *claudeClient) pauses(status int, pause time.Duration) bool {
	c.out.write(object{"type": "system", "subtype": "api_retry", "error_status": status, "error": "rate_limit", "retry_delay_ms": pause.Milliseconds(), "session_id": c.agent.id})
	return true
}
