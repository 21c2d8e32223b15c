package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/keeper"
)

// lastAnswer bounds the question for what is missing when the time is over.
const lastAnswer = 5 * time.Second

// awaitAgents returns when every agent is where it is wanted. When the time is
// over, the error tells of each that is not.
func (a *app) awaitAgents(ctx context.Context, p keeper.StateDir, limit time.Duration) (ps keeper.Ps, err error) {
	err = a.keep(ctx, p.Config, keeper.MethodPs, keeper.Agent{Wait: true}, &ps)
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ps, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswer)
	defer cancel()
	ps = keeper.Ps{}
	if now := a.keep(ctx, p.Config, keeper.MethodPs, nil, &ps); now != nil {
		return ps, fault.Errorf(fault.Timeout, "not all agents are up after %v, and the keeper does not tell which: %w", limit, now)
	}
	return ps, notUp(ps.Agents, limit, time.Now())
}

// notUp is an error that tells of every agent that is not where it is wanted,
// nil where each of them is.
func notUp(agents []keeper.AgentStatus, limit time.Duration, now time.Time) error {
	var lines []string
	first := ""
	for _, s := range agents {
		if arrived(s) {
			continue
		}
		if first == "" {
			first = s.Name
		}
		lines = append(lines, "  "+progress(s, now))
	}
	if len(lines) == 0 {
		return nil
	}
	return fault.Hintf(fault.Errorf(fault.Timeout, "%d of %d agents are not up after %v; the keeper goes on:\n%s", len(lines), len(agents), limit, strings.Join(lines, "\n")),
		"'den agent peek %s' shows its screen, 'den agent logs %s' what happened; 'den ps' shows all", first, first)
}

// arrived reports whether an agent is where it is wanted.
func arrived(s keeper.AgentStatus) bool {
	if s.Wanted == keeper.Running {
		return s.Actual == keeper.Running || s.Actual == keeper.Finished
	}
	return s.Actual == keeper.Stopped
}

// progress says how far an agent has come, and why no further.
func progress(s keeper.AgentStatus, now time.Time) string {
	text := fmt.Sprintf("%s: %s for %s", s.Name, s.Actual, formatAge(now.Sub(s.Since)))
	if s.Step != "" {
		text += ", at step " + s.Step
	}
	return text + ": " + s.Why + s.ItsLastLines("    ")
}
