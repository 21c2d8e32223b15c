package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"den/internal/agent"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/keeper"
	"den/internal/place/workspace"
)

// maxChecks bounds how many pools are asked at the same time.
const maxChecks = 8

// scale asks the pools how many of them are wanted, on every patrol.
func (d *daemon) scale(ctx context.Context) {
	for {
		ws := d.plan.now().workspace
		sizes := d.askPools(ctx, ws)
		if ctx.Err() != nil {
			return
		}
		if err := d.resize(sizes); err != nil {
			log.Printf("scale: %v", err)
		}
		pause := ws.Keeper.PatrolInterval
		if pause <= 0 {
			pause = 30 * time.Second
		}
		if poll.Pause(ctx, pause) != nil {
			return
		}
	}
}

// askPools runs the checks, all at the same time: one that hangs keeps no other
// pool waiting. One that fails says nothing: a pool is not shrunk on a doubt.
func (d *daemon) askPools(ctx context.Context, ws *workspace.Workspace) map[string]int {
	pools := map[string]*workspace.Agent{}
	for i := range ws.Agents {
		if ag := &ws.Agents[i]; ag.Pool != nil && ag.Pool.Check != "" {
			pools[ag.Name] = ag
		}
	}
	room := make(chan struct{}, maxChecks) // further checks wait for one to end
	return atOnce(pools, func(name string, ag *workspace.Agent) (n int, ok bool) {
		room <- struct{}{}
		defer func() { <-room }()
		n, err := count(ctx, ag, d.environ)
		switch {
		case ctx.Err() != nil:
			return 0, false
		case err != nil:
			d.checks.note(name, err.Error())
			return 0, false
		}
		d.checks.note(name, "")
		return n, true
	})
}

// poolChecks remember why pools could not be asked.
type poolChecks struct {
	tell func(keeper.Event)

	mu       sync.Mutex        // guards problems
	problems map[string]string // by pool; "" for one that worked
}

func newPoolChecks(tell func(keeper.Event)) poolChecks {
	return poolChecks{tell: tell, problems: map[string]string{}}
}

// note tells once why a pool could not be asked, and again when the reason is
// another or it worked in between. why is "" for one that worked.
func (c *poolChecks) note(pool, why string) {
	c.mu.Lock()
	told := c.problems[pool] == why
	c.problems[pool] = why
	c.mu.Unlock()
	if !told && why != "" {
		c.tell(keeper.Event{Type: keeper.EventScaleFailed, Agent: pool, Why: why})
	}
}

// resize gives pools new sizes, in the workspace as it is by now: its file may
// have been read again while the pools were asked.
func (d *daemon) resize(sizes map[string]int) error {
	d.planning.Lock()
	defer d.planning.Unlock()
	now := d.plan.now()
	ws := now.workspace
	changed := map[string]int{}
	for i := range ws.Agents {
		ag := &ws.Agents[i]
		n, asked := sizes[ag.Name]
		if ag.Pool == nil || !asked {
			continue
		}
		n = min(max(n, ag.Pool.Min), ag.Pool.Max)
		if before := now.counts[ag.Name]; n != before {
			changed[ag.Name] = n
			d.controller.Event(keeper.Event{Type: keeper.EventScaled, Agent: ag.Name, Detail: map[string]any{"from": before, "to": n}})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return d.apply(ws, changed)
}

// defaultCheckTimeout bounds a scale check that the workspace does not bound.
const defaultCheckTimeout = 30 * time.Second

// maxCheckOutput is how much of a scale check's words is shown in an error.
const maxCheckOutput = 2000

// count asks a pool how many of it are wanted.
func count(ctx context.Context, ag *workspace.Agent, environ []string) (int, error) {
	p := ag.Pool
	if p.Check == "" {
		return p.Min, nil
	}
	limit := p.CheckTimeout
	if limit <= 0 {
		limit = defaultCheckTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", p.Check)
	cmd.Dir = ag.Dir
	cmd.Env = append([]string(nil), environ...)
	env, err := agent.ResolveEnv(ctx, ag.Env, ag.Dir)
	if err != nil {
		return 0, fmt.Errorf("check of pool '%s': %w", ag.Name, err)
	}
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	// The whole group ends with the check, not only its shell.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", limit)
		}
		return 0, fault.Errorf(fault.Internal, "check of pool '%s': %w: %s", ag.Name, err, cut(errs.String()))
	}
	n, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		return 0, fault.Errorf(fault.Usage, "check of pool '%s' printed %q, not a number", ag.Name, cut(out.String()))
	}
	return min(max(n, p.Min), p.Max), nil
}

func cut(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxCheckOutput {
		return s[:maxCheckOutput] + "…"
	}
	return s
}
