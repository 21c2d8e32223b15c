package supervisor

import (
	"errors"
	"strings"
	"time"

	"den/internal/agent/runner"
)

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

// clip keeps the beginning of a text.
func clip(s string) string {
	if len(s) <= maxKept {
		return s
	}
	return strings.ToValidUTF8(s[:maxKept], "") + "…"
}
