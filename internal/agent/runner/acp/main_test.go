package acp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"testing"
)

// The test binary is also the agent that tests drive: it plays a recording, or
// one of the agents that the tests write.
func TestMain(m *testing.M) {
	if file := os.Getenv("ACP_TEST_REPLAY"); file != "" {
		exitWith(replay(file, os.Stdin, os.Stdout, os.Stderr))
	}
	if name := os.Getenv("ACP_TEST_AGENT"); name != "" {
		exitWith(agents[name]())
	}
	os.Exit(m.Run())
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// entry is a line of a recording: what went into the agent, or came out of it.
type entry struct {
	Dir string          `json:"dir"` // "in", "out" or "err"
	Msg json.RawMessage `json:"msg"`
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func readRecording(file string) ([]entry, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []entry
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var e entry
		if err := dec.Decode(&e); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
}

// replay plays the agent's part of a recording. The client must send what it
// sent then: the same methods in the same order, and the same answers.
func replay(file string, in io.Reader, out, errOut io.Writer) error {
	entries, err := readRecording(file)
	if err != nil {
		return err
	}
	lines := bufio.NewReader(in)
	ids := map[string]json.RawMessage{} // of then, and now
	for _, e := range entries {
		var then rpc
		_ = json.Unmarshal(e.Msg, &then) // of "err" it is text
		switch e.Dir {
		case "in":
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("the client should have sent %s: %w", e.Msg, err)
			}
			var now rpc
			if err := json.Unmarshal(line, &now); err != nil {
				return err
			}
			if now.Method != then.Method || now.Method == "" && !(sameJSON(now.ID, then.ID) && (sameJSON(now.Result, then.Result) || sameJSON(now.Error, then.Error))) {
				return fmt.Errorf("the client sent %swant %s", line, e.Msg)
			}
			ids[string(then.ID)] = now.ID
		case "out":
			msg := e.Msg
			if then.Method == "" {
				msg = bytes.Replace(msg, append([]byte(`"id": `), then.ID...), append([]byte(`"id": `), ids[string(then.ID)]...), 1)
			}
			if _, err := fmt.Fprintf(out, "%s\n", msg); err != nil {
				return err
			}
		case "err":
			fmt.Fprintf(errOut, "%s\n", e.Msg)
		}
	}
	_, err = io.Copy(io.Discard, lines)
	return err
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// agents are those that the tests write, by name.
var agents = map[string]func() error{"puppet": puppet}
