package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/jsonrpc"
)

// Whatever an agent sends: every tool's use that began ends, once, and every
// message has a text.
func FuzzUpdates(f *testing.F) {
	recordings, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(recordings) == 0 {
		f.Fatalf("%q, %v", recordings, err)
	}
	for _, file := range recordings {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		open := map[string]bool{}
		c := newCollector("m", func(e runner.Event) { checkEvent(t, open, e) })
		for len(data) > 0 {
			line := data
			for i, b := range data {
				if b == '\n' {
					line = data[:i]
					break
				}
			}
			data = data[min(len(line)+1, len(data)):]
			takeLine(c, line)
		}
		c.end()
		if len(open) > 0 {
			t.Errorf("tools that never ended: %v", open)
		}
	})
}

func takeLine(c *collector, line []byte) {
	var entry struct{ Msg jsonrpc.Message }
	if decode(line, &entry) != nil {
		return
	}
	var n notification
	if decode(entry.Msg.Params, &n) == nil {
		c.update(n.Update)
	}
	var p permissionParams
	if decode(entry.Msg.Params, &p) == nil && len(p.Options) > 0 {
		_, asked := c.question(p.ToolCall)
		asked.permissionRequest()
		choose(p.Options, permission.Decision{Allow: true})
	}
}

func checkEvent(t *testing.T, open map[string]bool, e runner.Event) {
	t.Helper()
	switch {
	case e.Message != nil:
		b := e.Message.Content[0]
		if b.Type == runner.BlockToolUse {
			if open[b.ID] || !json.Valid(b.Input) {
				t.Errorf("%+v", b)
			}
			open[b.ID] = true
		} else if b.Text+b.Thinking == "" {
			t.Errorf("an empty message: %+v", b)
		}
	case e.Result != nil:
		if !open[e.Result.ID] {
			t.Errorf("%+v ended but did not begin", e.Result)
		}
		delete(open, e.Result.ID)
	}
}

// What a turn has cost is told while it runs: the growth of what the session
// has.
func TestCostWithinATurn(t *testing.T) {
	var told []float64
	c := newCollector("m", func(e runner.Event) {
		if e.Kind == runner.Used {
			told = append(told, e.Usage.CostUSD)
		}
	})
	c.spent = 1
	for _, text := range []string{
		`{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":1,"currency":"USD"}}`,
		`{"sessionUpdate":"usage_update","used":2,"size":9}`,
		`{"sessionUpdate":"usage_update","used":3,"size":9,"cost":{"amount":1.5,"currency":"USD"}}`,
		`{"sessionUpdate":"usage_update","used":3,"size":9,"cost":{"amount":7,"currency":"EUR"}}`,
		`{"sessionUpdate":"usage_update","used":4,"size":9,"cost":{"amount":3,"currency":"USD"}}`,
	} {
		var u update
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		if !c.update(u) {
			t.Errorf("%s is not known", text)
		}
	}
	if len(told) != 2 || told[0] != 0.5 || told[1] != 2 {
		t.Errorf("told %v", told)
	}
}
