package main

import (
	"fmt"
	"strings"
)

// taskRun is a task with a tool.
type taskRun struct{ task, tool string }

// score is what agents paid for a task, round by round.
type score struct {
	calls, read, written, seconds, wrong series
	trouble                              string // what was wrong in the last round that had something
}

func (s *taskSuite) score(t *task, tool taskTool) *score {
	run := taskRun{t.name, tool.name}
	if s.scores[run] == nil {
		s.scores[run] = &score{}
	}
	return s.scores[run]
}

func (c *score) add(a *agent, wrong []string) {
	c.calls.add(float64(a.paid.calls))
	c.read.add(float64(a.paid.read) / bytesOfAToken)
	c.written.add(float64(a.paid.written) / bytesOfAToken)
	c.seconds.add(a.paid.took.Seconds())
	c.wrong.add(float64(len(wrong)))
	if len(wrong) > 0 {
		c.trouble = strings.Join(wrong, ", ")
	}
	if a.stuck != nil {
		c.trouble += " (" + shorten(a.stuck.Error()) + ")"
	}
}

func shorten(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// figures are a line of the table.
type figures struct{ calls, read, written, seconds, wrong float64 }

func (c *score) figures() figures {
	return figures{c.calls.median(), c.read.median(), c.written.median(), c.seconds.median(), c.wrong.quantile(1)}
}

func (f figures) plus(o figures) figures {
	return figures{f.calls + o.calls, f.read + o.read, f.written + o.written, f.seconds + o.seconds, f.wrong + o.wrong}
}

func (f figures) cells() []string {
	whole := func(x float64) string { return fmt.Sprintf("%.0f", x) }
	return []string{whole(f.calls), whole(f.read), whole(f.written), fmt.Sprintf("%.2f", f.seconds), whole(f.wrong)}
}

// report makes one table of all, with the totals below.
func (s *taskSuite) report() {
	out := s.bench.out
	out.table("task", "tool", "calls", "tokens read", "written", "seconds", "wrong")
	totals := make([]figures, len(s.tools))
	for _, t := range s.tasks {
		for i, tool := range s.tools {
			c := s.score(t, tool)
			out.row(append([]string{t.about, tool.name}, c.figures().cells()...)...)
			totals[i] = totals[i].plus(c.figures())
			if c.trouble != "" {
				out.note("%s, %s: %s", t.about, tool.name, c.trouble)
			}
		}
	}
	for i, tool := range s.tools {
		out.row(append([]string{"all of them", tool.name}, totals[i].cells()...)...)
	}
	out.note("medians of the rounds, and the most wrong answers of any round; a token is %d bytes", bytesOfAToken)
	out.note("a call is a command line of the agent's shell tool, or a call of an MCP tool; the lists of tools come on top: see -only mcp")
}
