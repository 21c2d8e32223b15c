package supervisor

import (
	"bytes"
	"context"
	"den/internal/agent/runner"
	"den/internal/base/fault"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Action is what a judge thinks should happen. The values are sent: add,
// never rename.
type Action string

// The actions.
const (
	OK          Action = "OK"           // it gets on
	Correction  Action = "CORRECTION"   // it is stuck, and needs another direction
	ThinkDeeper Action = "THINK_DEEPER" // it should reflect before it goes on
	Escalation  Action = "ESCALATION"   // a person has to look at it
)

func (a Action) valid() bool { return a == OK || a.corrects() || a == Escalation }

func (a Action) corrects() bool { return a == Correction || a == ThinkDeeper }

// A Verdict is a judge's answer.
type Verdict struct {
	Action  Action `json:"verdict"`
	Message string `json:"message"` // for the agent or for a person; "" only of OK
}

// A Judge evaluates what an agent did. An error says nothing about the agent.
type Judge interface {
	Judge(ctx context.Context, w Window) (Verdict, error)
}

// Window is the last steps of an agent, the oldest first.
type Window struct {
	Agent string
	Steps []Step
	// Whispered is the last correction, if the agent has had one since it was
	// last OK, and Since the number of steps that it has made after it.
	Whispered string
	Since     int
}

// A Step is one message of the agent with the tools that it used. A turn that
// answers one prompt may have hundreds of them, and an agent can be stuck
// within one turn: so steps are counted, not prompts.
type Step struct {
	At    time.Time `json:"at"`
	Text  string    `json:"text,omitempty"`
	Tools []Tool    `json:"tools,omitempty"`
	Error string    `json:"error,omitempty"` // why the turn failed with this step, or ""
	Asked bool      `json:"asked,omitempty"` // it is the first of a turn that a person asked for
}

// Tool is one use of a tool.
type Tool struct {
	Name   string `json:"name"`
	Input  string `json:"input,omitempty"` // JSON
	Result string `json:"result,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Done   bool   `json:"done,omitempty"` // Result and Failed are known
}

const (
	maxAnswer  = 16 << 10 // bytes of an answer that are read
	maxMessage = 2000     // bytes of a verdict's message
)

// parseVerdict reads a judge's answer: one JSON object, perhaps with words or
// a code fence around it. Anything else is an error: a judge that is not
// understood has not said OK.
func parseVerdict(answer string) (Verdict, error) {
	if len(answer) > maxAnswer {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: the answer has %d bytes", len(answer))
	}
	objects := findObjects(answer)
	if len(objects) != 1 {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: there are %d JSON objects in %q, want one", len(objects), cut(answer, 200))
	}
	dec := json.NewDecoder(bytes.NewReader(objects[0]))
	dec.DisallowUnknownFields()
	var v Verdict
	if err := dec.Decode(&v); err != nil {
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: %w", err)
	}
	v.Message = strings.TrimSpace(v.Message)
	switch {
	case !v.Action.valid():
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: '%s' is none", cut(string(v.Action), 200))
	case v.Action != OK && v.Message == "":
		return Verdict{}, fault.Errorf(fault.Protocol, "read verdict: %s without a message", v.Action)
	}
	v.Message = cut(v.Message, maxMessage)
	return v, nil
}

// findObjects returns the JSON objects in a text that are in no other.
func findObjects(text string) []json.RawMessage {
	var all []json.RawMessage
	for {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			return all
		}
		text = text[at:]
		dec := json.NewDecoder(strings.NewReader(text))
		var object json.RawMessage
		if dec.Decode(&object) != nil {
			text = text[1:]
			continue
		}
		all = append(all, object)
		text = text[dec.InputOffset():]
	}
}

// state is what the counting rule remembers.
type state struct {
	// Failed counts corrections in a row that were not followed by OK.
	Failed int `json:"failed,omitempty"`
	// Unheard is that the last correction waits for the agent's turn to end: it
	// cannot have helped yet.
	Unheard bool `json:"unheard,omitempty"`
	// Paused is that a person was called. No judge that costs anything is
	// asked until the agent comes back.
	Paused bool `json:"paused,omitempty"`
}

// effect is what follows from a verdict.
type effect struct {
	Whisper  Verdict // to the agent; its Action is "" for none
	Escalate string  // to a person; "" for none
	Back     bool    // the agent came back: evaluation goes on
}

// next is the counting rule, the same for every judge:
//
//	watching  OK                         the count is 0 again
//	watching  CORRECTION, THINK_DEEPER   the count grows; below the threshold the agent
//	                                     is whispered to, at the threshold a person is
//	                                     called and evaluation is paused
//	watching  the same, and the last     nothing: what the agent has not heard did not
//	          one was not heard          fail to help, and one that waits is enough
//	watching  ESCALATION                 a person is called, evaluation is paused
//	paused    OK                         evaluation goes on, the count is 0
//	paused    anything else              nothing: a person was called already
func next(s state, v Verdict, threshold int) (state, effect) {
	switch {
	case v.Action == OK:
		return state{Unheard: s.Unheard}, effect{Back: s.Paused}
	case s.Paused:
		return s, effect{}
	case v.Action == Escalation:
		s.Paused = true
		return s, effect{Escalate: v.Message}
	case s.Unheard:
		return s, effect{}
	}
	s.Failed++
	if s.Failed < threshold {
		s.Unheard = true
		return s, effect{Whisper: v}
	}
	s.Paused = true
	return s, effect{Escalate: fmt.Sprintf("%d corrections in a row did not help; the last one: %s", s.Failed, v.Message)}
}

// returned is the other way back: a person spoke to the agent, or resumed it.
// While evaluation goes on it changes nothing.
func returned(s state) (state, effect) {
	if !s.Paused {
		return s, effect{}
	}
	return state{Unheard: s.Unheard}, effect{Back: true}
}

// heard is the state once the agent was told the last correction.
func heard(s state) state {
	s.Unheard = false
	return s
}

// notTold is the state where the agent cannot be told of the last correction.
func notTold(s state) state {
	s.Failed--
	return heard(s)
}

// maxKept bounds what a step keeps of a text.
const maxKept = 4 << 10

// A Collector makes steps of the events of a runner's turns. It is used from
// one goroutine.
type Collector struct {
	observe func(Step)
	step    *Step          // under way, or nil
	tools   map[string]int // the places of its tools, by id
	open    int            // tools of it that have not finished
	asked   bool           // the next step is the first that a person asked for
}

// NewCollector returns a collector that hands every step to observe.
func NewCollector(observe func(Step)) *Collector { return &Collector{observe: observe} }

// Begin takes the beginning of a turn, and whether a person asked for it.
func (c *Collector) Begin(byPerson bool) { c.asked = byPerson }

// Event takes an event of a turn.
func (c *Collector) Event(e runner.Event) {
	switch {
	case e.Kind == runner.Spoke && e.Message != nil:
		for _, b := range e.Message.Content {
			c.block(b)
		}
	case e.Kind == runner.ToolFinished && e.Result != nil:
		c.finished(*e.Result)
	}
}

// End takes the end of a turn.
func (c *Collector) End(err error) {
	var failure *runner.Failure
	if errors.As(err, &failure) {
		c.current().Error = clip(failure.Error())
	}
	c.flush()
}

func (c *Collector) block(b runner.Block) {
	switch b.Type {
	case runner.BlockText:
		if strings.TrimSpace(b.Text) == "" {
			return
		}
		if c.step != nil { // text begins a step
			c.flush()
		}
		c.current().Text = clip(b.Text)
	case runner.BlockToolUse:
		s := c.current()
		c.tools[b.ID] = len(s.Tools)
		c.open++
		s.Tools = append(s.Tools, Tool{Name: b.Name, Input: clip(string(b.Input))})
	}
}

func (c *Collector) current() *Step {
	if c.step == nil {
		c.step, c.tools, c.open = &Step{At: time.Now(), Asked: c.asked}, map[string]int{}, 0
		c.asked = false
	}
	return c.step
}

// finished ends a tool's use, and with the last one the step.
func (c *Collector) finished(d runner.ToolDone) {
	if c.step == nil {
		return
	}
	at, ok := c.tools[d.ID]
	if !ok || c.step.Tools[at].Done {
		return
	}
	tool := &c.step.Tools[at]
	tool.Result, tool.Failed, tool.Done = clip(d.Output), d.Failed || d.Denied, true
	if c.open--; c.open == 0 {
		c.flush()
	}
}

func (c *Collector) flush() {
	if c.step != nil {
		c.observe(*c.step)
		c.step = nil
	}
}

func clip(s string) string { return cut(s, maxKept) }

// cut keeps the beginning of a text.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
