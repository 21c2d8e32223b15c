package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// agentTasks are what agents are measured by.
var agentTasks = []*task{&installer, &repl, &debugger, &editor, &hung, &build, &server, &remote, &menu, &failing}

// taskLimit is how long an agent may take for a task.
const taskLimit = 3 * time.Minute

// tasks measures what an agent pays for work in a terminal: calls, what it
// reads and writes, time, and answers that are wrong or missing, with each tool.
func tasks(b *bench) (err error) {
	s, err := b.newTaskSuite()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, t := range agentTasks {
		if name := t.missing(); name != "" {
			b.out.note("%s is left out: %s is missing", t.about, name)
			continue
		}
		s.tasks = append(s.tasks, t)
	}
	for range b.rounds(3, 1) {
		for _, t := range s.tasks {
			for _, tool := range s.tools {
				if err := s.do(t, tool); err != nil {
					return err
				}
			}
		}
	}
	s.report()
	return nil
}

// do has an agent do a task once.
func (s *taskSuite) do(t *task, tool taskTool) (err error) {
	g, truth, err := t.newGround(s.bench.tmp, cleanEnv(s.env...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	ctx, cancel := context.WithTimeout(s.bench.ctx, taskLimit)
	defer cancel()
	a := &agent{ctx: ctx, dir: g.dir, learned: map[string]string{}}
	end, err := tool.begin(a)
	if err != nil {
		return fmt.Errorf("%s: %w", tool.name, err)
	}
	s.bench.calm.await()
	tool.script(t)(a)
	wrong := a.wrong(truth)
	if t.done != nil {
		wrong = append(wrong, undone(t.done(g))...)
	}
	if err := end(); err != nil {
		s.bench.out.note("%s, %s, when it was over: %v", t.about, tool.name, err)
	}
	if s.bench.ctx.Err() != nil {
		return s.bench.ctx.Err()
	}
	s.score(t, tool).add(a, wrong)
	return s.keepTranscript(t, tool, a, wrong)
}

// wrong names the answers that are not true, or missing.
func (a *agent) wrong(truth map[string]string) []string {
	var names []string
	for name, want := range truth {
		if got, ok := a.learned[name]; !ok {
			names = append(names, "no "+name)
		} else if got != want {
			names = append(names, fmt.Sprintf("%s %s in place of %s", name, got, want))
		}
	}
	return names
}

func undone(all map[string]bool) []string {
	var names []string
	for name, is := range all {
		if !is {
			names = append(names, "not so: "+name)
		}
	}
	return names
}

// keepTranscript writes what the agent did, where a reader wants to see it.
func (s *taskSuite) keepTranscript(t *task, tool taskTool, a *agent, wrong []string) error {
	if s.bench.transcripts == "" {
		return nil
	}
	fmt.Fprintf(&a.transcript, "== learned %v; wrong %q; stuck: %v\n", a.learned, wrong, a.stuck)
	name := strings.ReplaceAll(t.name+"-"+tool.name, " ", "-") + ".txt"
	return os.WriteFile(filepath.Join(s.bench.transcripts, name), []byte(a.transcript.String()), 0o644)
}
