package terminals

import "strings"

// shown is the output of unfinished code as a client has read it.
type shown struct {
	cell   string // or "": none
	output string
}

// skipShown leaves out the output that the client has read already. Output that
// was elided, or that its program has changed since, is told whole.
func (c *Client) skipShown(t *terminal, r *Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := t.shown
	t.shown = shown{}
	if !r.Final() && !r.Truncated {
		t.shown = shown{r.CellID, r.Output}
	}
	if before.cell != r.CellID || before.output == "" || r.Truncated {
		return
	}
	if rest, ok := strings.CutPrefix(r.Output, before.output); ok {
		r.Output, r.Continued = rest, true
	}
}
