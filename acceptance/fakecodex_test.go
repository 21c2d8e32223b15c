package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// fakeCodex is a program that speaks the protocol of codex's app-server.
func fakeCodex() {
	fakeVersion()
	c := &codexClient{out: newFakeWriter(), answers: map[string]chan bool{}}
	c.serve()
	os.Exit(0)
}

// codexLine is a line from den: a request, a notification or an answer.
type codexLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
		Dir      string `json:"cwd"`
		Input    []struct {
			Text string `json:"text"`
		} `json:"input"`
	} `json:"params"`
	Result struct {
		Decision string `json:"decision"`
	} `json:"result"`
}

type codexClient struct {
	agent *fakeAgent // of the thread, once there is one
	out   *fakeWriter
	dir   string
	turns sync.WaitGroup
	count int // of turns, for their names

	mu      sync.Mutex // guards the fields below
	name    string     // of the running turn
	cancel  context.CancelFunc
	answers map[string]chan bool
}

func (c *codexClient) serve() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m codexLine
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			fakeFatal(err)
		}
		c.take(m)
	}
	c.interrupt()
	c.turns.Wait()
}

func (c *codexClient) take(m codexLine) {
	answer := func(result any) { c.out.write(object{"id": m.ID, "result": result}) }
	switch m.Method {
	case "initialize":
		answer(object{"userAgent": "fake"})
	case "thread/start", "thread/resume":
		agent, found := openFakeAgent(m.Params.ThreadID)
		if !found {
			c.out.write(object{"id": m.ID, "error": object{"code": -32600, "message": "no rollout found for thread id " + m.Params.ThreadID}})
			return
		}
		c.agent, c.dir = agent, m.Params.Dir
		answer(object{"thread": object{"id": agent.id}, "model": "stub-model"})
	case "turn/start":
		c.count++
		name := fmt.Sprint("turn-", c.count)
		answer(object{"turn": object{"id": name, "status": "inProgress"}})
		c.turns.Go(func() { c.turn(name, m.Params.Input[0].Text) })
	case "turn/interrupt":
		c.interrupt()
		answer(object{})
	case "": // an answer to a question
		var id string
		if err := json.Unmarshal(m.ID, &id); err != nil {
			fakeFatal(err)
		}
		c.mu.Lock()
		asked := c.answers[id]
		c.mu.Unlock()
		asked <- m.Result.Decision == "accept" // has room
	}
}

func (c *codexClient) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// tell sends a notification about the running turn.
func (c *codexClient) tell(method string, params object) {
	c.mu.Lock()
	params["turnId"] = c.name
	c.mu.Unlock()
	params["threadId"] = c.agent.id
	c.out.write(object{"method": method, "params": params})
}

func (c *codexClient) turn(name, prompt string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.mu.Lock()
	c.name, c.cancel = name, cancel
	c.mu.Unlock()
	c.tell("turn/started", object{"turn": object{"id": name, "status": "inProgress"}})
	c.tell("item/started", object{"item": object{"type": "userMessage", "id": name + "-prompt"}})
	_, failure, err := c.agent.turn(ctx, prompt, c)
	turn := object{"id": name, "status": "completed"}
	switch {
	case err != nil:
		turn["status"] = "interrupted"
	case failure != nil:
		turn["status"], turn["error"] = "failed", object{"message": failure.message, "codexErrorInfo": codexErrorInfo(failure.status)}
	}
	c.tell("turn/completed", object{"turn": turn})
}

// codexErrorInfo is codex's word for a status of the API.
func codexErrorInfo(status int) any {
	switch status {
	case 0:
		return object{"responseStreamDisconnected": object{}}
	case 401:
		return "unauthorized"
	case 413:
		return "contextWindowExceeded"
	}
	return object{"responseTooManyFailedAttempts": object{"httpStatusCode": status}}
}

func (c *codexClient) said(text string) {
	c.tell("item/completed", object{"item": object{"type": "agentMessage", "id": "m", "text": text}})
}

func (c *codexClient) mayRun(ctx context.Context, call, command string) bool {
	c.tell("item/started", object{"item": object{"type": "commandExecution", "id": call, "command": command, "cwd": c.dir, "status": "inProgress"}})
	answer := make(chan bool, 1)
	c.mu.Lock()
	c.answers[call] = answer
	params := object{"threadId": c.agent.id, "turnId": c.name, "itemId": call, "command": command, "cwd": c.dir}
	c.mu.Unlock()
	c.out.write(object{"id": call, "method": "item/commandExecution/requestApproval", "params": params})
	select {
	case allowed := <-answer:
		return allowed
	case <-ctx.Done():
		return false
	}
}

func (c *codexClient) ran(call, command, output string, denied bool) {
	status := "completed"
	if denied {
		status = "declined"
	}
	c.tell("item/completed", object{"item": object{"type": "commandExecution", "id": call, "command": command, "cwd": c.dir, "status": status, "aggregatedOutput": output}})
}

// pauses is never: codex gives up instead.
func (c *codexClient) pauses(int, time.Duration) bool { return false }
