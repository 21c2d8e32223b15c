package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// mcpClient is an MCP client over stdio that does no more than is measured: one
// JSON object a line, one request at a time.
type mcpClient struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int // the number of the last request
}

func startMCP(env []string, dir string, argv ...string) (*mcpClient, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &mcpClient{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var hello struct{}
	params := map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}
	if err := c.request("initialize", params, &hello); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (c *mcpClient) send(message any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(raw, '\n'))
	return err
}

// request makes a request and reads until its answer.
func (c *mcpClient) request(method string, params, result any) error {
	c.next++
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.Method != "" || string(answer.ID) != fmt.Sprint(c.next) {
			continue // a notification, or words of the server's that do not belong here
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error)
		}
		return json.Unmarshal(answer.Result, result)
	}
}

// call calls a tool and returns its texts and how long that took.
func (c *mcpClient) call(tool string, arguments map[string]any) (text string, ms float64, err error) {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	begun := time.Now()
	err = c.request("tools/call", map[string]any{"name": tool, "arguments": arguments}, &r)
	ms = msSince(begun)
	var texts []string
	for _, part := range r.Content {
		texts = append(texts, part.Text)
	}
	text = strings.Join(texts, "\n")
	if err == nil && r.IsError {
		err = fmt.Errorf("%s: %s", tool, text)
	}
	return text, ms, err
}

// tools returns how many tools there are, and the size of their list.
func (c *mcpClient) tools() (n, bytes int, err error) {
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if err := c.request("tools/list", map[string]any{}, &list); err != nil {
		return 0, 0, err
	}
	for _, t := range list.Tools {
		bytes += len(t)
	}
	return len(list.Tools), bytes, nil
}

func (c *mcpClient) close() error {
	c.in.Close() // Best effort: the process is ended below in any case.
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
	}
	if err := c.cmd.Process.Signal(os.Kill); err != nil {
		return err
	}
	<-ended
	return nil
}
