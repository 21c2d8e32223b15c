package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"den/internal/agent/permission"
	"den/internal/agent/runner"
	"den/internal/agent/runner/acp"
	"den/internal/agent/runner/local"
)

// The puppet is an agent that does what its prompts say.
type script struct {
	Lines []string          `json:"lines,omitempty"` // to print as they are
	Ask   []json.RawMessage `json:"ask,omitempty"`   // requests to send, without ids; their answers are said
	Flood int               `json:"flood,omitempty"` // so many pieces of text
	Echo  bool              `json:"echo,omitempty"`  // say the prompt
	Exit  int               `json:"exit,omitempty"`  // end with this code
	Hang  bool              `json:"hang,omitempty"`  // answer only when cancelled
	Close bool              `json:"close,omitempty"` // close stdout, and live on
	Stop  string            `json:"stop,omitempty"`  // or "end_turn"
	Error json.RawMessage   `json:"error,omitempty"` // the answer instead
	Raw   string            `json:"raw,omitempty"`   // the answer; ID stands for the id
}

func (s script) String() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// puppet is told its answers to requests by method in the environment.
func puppet() error {
	answers := map[string]json.RawMessage{
		"initialize":  json.RawMessage(`{"result":{"protocolVersion":1}}`),
		"session/new": json.RawMessage(`{"result":{"sessionId":"s1"}}`),
	}
	if err := json.Unmarshal([]byte(os.Getenv("ACP_TEST_ANSWERS")), &answers); err != nil {
		return err
	}
	p := &puppetAgent{in: bufio.NewReader(os.Stdin)}
	for {
		m, err := p.read()
		if err != nil {
			return nil // the client has closed
		}
		answer := answers[m.Method]
		switch {
		case m.Method == "session/prompt":
			p.prompted(m)
		case m.ID == nil:
		case answer == nil:
			p.print(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"%s is not known"}}`, m.ID, m.Method)
		default:
			p.say("heard " + m.Method + " " + string(m.Params))
			p.print(`%s,"id":%s}`, strings.TrimSuffix(string(answer), "}"), m.ID) // the id is last
			if m.Method == "session/load" {                                       // the history comes late, as Gemini CLI's
				p.inTurn = true
				for range 100 {
					p.say("said long ago")
				}
				p.inTurn = false
			}
		}
	}
}

type puppetAgent struct {
	in     *bufio.Reader
	asked  int
	heard  []string // said in the next turn
	inTurn bool
}

func (p *puppetAgent) read() (rpc, error) {
	var m rpc
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

func (p *puppetAgent) print(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// say says a text now, or with the next prompt.
func (p *puppetAgent) say(text string) {
	if !p.inTurn {
		p.heard = append(p.heard, text)
		return
	}
	quoted, err := json.Marshal(text + "\n")
	if err != nil {
		panic(err)
	}
	p.print(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`, quoted)
}

func (p *puppetAgent) prompted(m rpc) {
	var params struct{ Prompt []struct{ Text string } }
	if err := json.Unmarshal(m.Params, &params); err != nil {
		panic(err)
	}
	text := params.Prompt[0].Text
	var s script
	if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &s); err != nil {
		panic(err)
	}
	p.inTurn = true
	defer func() { p.inTurn = false }()
	if s.Echo {
		for _, text := range append(p.heard, "prompt "+text[:strings.Index(text, "{")]) {
			p.say(text)
		}
	}
	for _, line := range s.Lines {
		p.print("%s", line)
	}
	for range s.Flood {
		p.say("flood")
	}
	for _, request := range s.Ask {
		p.ask(request)
	}
	p.finish(m.ID, s)
}

func (p *puppetAgent) ask(request json.RawMessage) {
	p.asked++
	p.print(`%s,"jsonrpc":"2.0","id":"q%d"}`, strings.TrimSuffix(string(request), "}"), p.asked)
	for {
		m, err := p.read()
		if err != nil {
			os.Exit(0)
		}
		switch m.Method {
		case "":
			p.say(string(m.Result) + string(m.Error))
			return
		default:
			p.say("heard " + m.Method)
		}
	}
}

func (p *puppetAgent) finish(id json.RawMessage, s script) {
	switch {
	case s.Exit != 0:
		fmt.Fprintln(os.Stderr, "the last words")
		os.Exit(s.Exit)
	case s.Close:
		os.Stdout.Close()
		return
	case s.Hang:
		for {
			m, err := p.read()
			if err != nil {
				os.Exit(0)
			}
			if m.Method == "session/cancel" {
				break
			}
		}
	}
	switch {
	case s.Raw != "":
		p.print("%s", strings.ReplaceAll(s.Raw, "ID", string(id)))
	case s.Error != nil:
		p.print(`{"jsonrpc":"2.0","error":%s,"id":%s}`, s.Error, id)
	default:
		if s.Stop == "" {
			s.Stop = "end_turn"
		}
		p.print(`{"jsonrpc":"2.0","result":{"stopReason":%q},"id":%s}`, s.Stop, id)
	}
}

// stage is what a test opens the puppet with.
type stage struct {
	driver  acp.Driver
	options runner.Options
	answers map[string]string
	logged  lines
}

func allow(context.Context, permission.Request) permission.Decision {
	return permission.Decision{Allow: true}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{driver: acp.Driver{}, answers: map[string]string{}}
	st.options = runner.Options{
		Spawn: local.Spawner{Mark: t.Name()}, Command: []string{os.Args[0]}, Dir: t.TempDir(), Ask: allow, Log: st.logged.add,
	}
	return st
}

func (st *stage) open(t *testing.T) (runner.Session, error) {
	t.Helper()
	answers := map[string]json.RawMessage{}
	for method, answer := range st.answers {
		answers[method] = json.RawMessage(answer)
	}
	text, err := json.Marshal(answers)
	if err != nil {
		t.Fatal(err)
	}
	st.options.Env = map[string]string{"ACP_TEST_AGENT": "puppet", "ACP_TEST_ANSWERS": string(text)}
	s, err := st.driver.Open(t.Context(), st.options)
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

func (st *stage) mustOpen(t *testing.T) runner.Session {
	t.Helper()
	s, err := st.open(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, st.logged.String())
	}
	return s
}

// play runs one turn and returns its events.
func play(t *testing.T, s runner.Session, sc script) (events []runner.Event, result runner.Result, err error) {
	t.Helper()
	result, err = s.Turn(t.Context(), sc.String(), func(e runner.Event) { events = append(events, e) })
	return events, result, err
}

// said is everything that the agent said in a turn.
func said(events []runner.Event) string {
	var all strings.Builder
	for _, e := range events {
		if e.Message != nil {
			all.WriteString(e.Message.Text())
		}
	}
	return all.String()
}

func request(t *testing.T, method string, params any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
