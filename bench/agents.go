package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"den/internal/keeper"
)

// agents measures a workspace from 'den up' to 'den down', in each place where
// agents can live, beside tmux by hand.
func agents(b *bench) error {
	for _, n := range pick(b, []int{10, 50}, []int{5}) {
		for _, kind := range []string{"native", "tmux"} {
			if kind == "tmux" && b.tmux == "" {
				continue
			}
			if err := b.fleet(kind, n); err != nil {
				return fmt.Errorf("%d %s agents: %w", n, kind, err)
			}
		}
		if b.tmux != "" {
			if err := b.rawFleet(n); err != nil {
				return fmt.Errorf("%d tmux sessions: %w", n, err)
			}
		}
	}
	if err := b.growth(); err != nil {
		return err
	}
	b.out.note("agents are bash; 'up' and 'down' are one command each, to all running and to all gone; peek and nudge are from a cold command line, and over an open connection to the keeper")
	b.out.note("bash does not end on Ctrl-C: den sees it back at its prompt in its own sessions")
	b.out.note("tmux by hand: four callers at a time; a nudge is send-keys, without a receipt")
	b.out.note("Gas City, measured elsewhere: 50 agents up in 1.3 to 313 s, down in 2.7 to 208 s, peek 33 ms, nudge 690 ms, idle keeper 1.8 to 22 %% of a core")
	return nil
}

// growth measures how 'up' and 'down' grow with the number of agents.
func (b *bench) growth() error {
	sizes := pick(b, []int{50, 100, 200, 400}, []int{5, 10})
	var up, down []float64
	for _, n := range sizes {
		u, d, err := b.upAndDown(n)
		if err != nil {
			return fmt.Errorf("%d agents: %w", n, err)
		}
		of := fmt.Sprintf("growth, %d agents", n)
		b.out.one(of+", all running", "den, native", "ms", u)
		b.out.one(of+", all gone", "den, native", "ms", d)
		up, down = append(up, u), append(down, d)
	}
	last := len(sizes) - 1
	if !b.quick {
		b.out.aim("400 native agents run in under 3 s", up[last] < 3000, "%.0f ms", up[last])
		b.out.aim("400 native agents are gone in under 3 s", down[last] < 3000, "%.0f ms", down[last])
	}
	b.growsAtMost("the agents", sizes, up, down)
	return nil
}

// growsAtMost aims at times that grow no faster than the number of agents.
func (b *bench) growsAtMost(what string, sizes []int, up, down []float64) {
	last := len(sizes) - 1
	times := float64(sizes[last]) / float64(sizes[0])
	b.out.aim(fmt.Sprintf("%.0f times %s take at most %.0f times as long", times, what, times), up[last] <= times*up[0] && down[last] <= times*down[0],
		"up %.1f times, down %.1f times", up[last]/up[0], down[last]/down[0])
}

// upAndDown brings up a workspace of n native agents and ends it.
func (b *bench) upAndDown(n int) (up, down float64, err error) {
	home, _, err := b.newFleet("native", n)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, home.end()) }()
	b.calm.await()
	if up, err = home.timed("up", "--wait", "-t", "2m"); err == nil {
		b.calm.await()
		down, err = home.timed("down", "-t", "2m")
		return up, down, err
	}
	return up, down, errors.Join(err, home.do("down"))
}

// newFleet makes a workspace of n agents and returns its file.
func (b *bench) newFleet(kind string, n int) (*denHome, string, error) {
	config := fmt.Sprintf("[workspace]\nname = \"bench\"\n[session]\nprovider = %q\n", kind)
	return b.newWorkspace(config + bashAgents(n))
}

// bashAgents are n agents for a workspace's file.
func bashAgents(n int) (config string) {
	for i := range n {
		config += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = [\"bash\", \"--norc\"]\n", i)
	}
	return config
}

// newWorkspace makes a workspace in a Home of its own and returns its file.
func (b *bench) newWorkspace(config string) (*denHome, string, error) {
	home, err := b.newHome()
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(filepath.Dir(home.dir), "w")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", errors.Join(err, home.end())
	}
	file := filepath.Join(dir, "den.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, "", errors.Join(err, home.end())
	}
	home.env = append(home.env, "DEN_WORKSPACE="+file)
	return home, file, nil
}

func (b *bench) fleet(kind string, n int) (err error) {
	home, file, err := b.newFleet(kind, n)
	if err != nil {
		return err
	}
	up := true
	defer func() {
		if up {
			err = errors.Join(err, home.do("down"))
		}
		err = errors.Join(err, home.end())
	}()
	who := "den, " + kind
	of := fmt.Sprintf("%d agents", n)

	b.calm.await()
	ms, err := home.timed("up", "--wait")
	if err != nil {
		return err
	}
	b.out.one(of+", all running", who, "ms", ms)
	if kind == "native" && n == 50 {
		b.out.aim("50 native agents run in under 1 s", ms < 1000, "%.0f ms", ms)
	}
	if err := b.talk(home, file, of, who, kind); err != nil {
		return err
	}
	if err := b.idleKeeper(home, of, who, n); err != nil {
		return err
	}
	b.calm.await()
	if ms, err = home.timed("down"); err != nil {
		return err
	}
	up = false
	b.out.one(of+", all gone", who, "ms", ms)
	if kind == "native" && n == 50 {
		b.out.aim("50 native agents are gone in under 1 s", ms < 1000, "%.0f ms", ms)
	}
	return nil
}

// talk peeks at and nudges one agent.
func (b *bench) talk(home *denHome, file, of, who, kind string) error {
	place, err := keeper.At(file)
	if err != nil {
		return err
	}
	c, err := place.Dial(b.ctx, "bench")
	if err != nil {
		return err
	}
	defer c.Close()
	coldPeek, warmPeek := b.out.series(of+", peek", who, "ms", false), b.out.series(of+", peek, connected", who, "ms", false)
	coldNudge, warmNudge := b.out.series(of+", nudge", who, "ms", false), b.out.series(of+", nudge, connected", who, "ms", false)
	err = b.race(b.rounds(30, 5),
		home.lane(coldPeek, "agent", "peek", "a1"),
		home.lane(coldNudge, "agent", "nudge", "a1", "echo nudge"),
		lane{warmPeek, took(func() error { return c.Call(b.ctx, keeper.MethodPeek, keeper.Agent{Name: "a1", Lines: 50}, nil) })},
		lane{warmNudge, took(func() error {
			var n keeper.Nudged
			err := c.Call(b.ctx, keeper.MethodNudge, keeper.Agent{Name: "a1", Text: "echo warm", Wait: true}, &n)
			if err == nil && n.Status != "taken" {
				err = fmt.Errorf("a nudge is %s: %s", n.Status, n.Note)
			}
			return err
		})})
	if kind == "native" {
		b.out.aim(of+": peek under 5 ms", warmPeek.median() < 5, "%.1f ms, %.1f from a cold command line", warmPeek.median(), coldPeek.median())
		b.out.aim(of+": a nudge confirmed under 50 ms", warmNudge.median() < 50, "%.1f ms, %.1f from a cold command line", warmNudge.median(), coldNudge.median())
	}
	return err
}

// idleKeeper looks at a keeper that has nothing to do.
func (b *bench) idleKeeper(home *denHome, of, who string, n int) error {
	var ps keeper.Ps
	if err := home.ask(&ps, "ps"); err != nil {
		return err
	}
	m, err := readMemory(ps.Keeper)
	if err != nil {
		return err
	}
	b.out.one(of+", keeper's RSS", who, "MB", m.rss)
	b.out.one(of+", keeper's RSS without its binary", who, "MB", m.own)
	look := pick(b, 35*time.Second, 5*time.Second) // usually a whole patrol
	used, err := b.used(look, []int{ps.Keeper})
	if err != nil {
		return err
	}
	share := 100 * float64(used[0].cpu) / float64(look)
	b.out.one(of+", idle keeper's share of a core", who, "%", share)
	if n == 50 {
		b.out.aim("idle keeper of 50 "+who+" agents under 0.5 % of a core", share < 0.5, "%.2f %%", share)
	}
	return nil
}

// rawFleet is what a person would do with tmux.
func (b *bench) rawFleet(n int) error {
	t, err := b.newTmux()
	if err != nil {
		return err
	}
	of, who := fmt.Sprintf("%d agents", n), "tmux by hand"
	name := func(i int) string { return fmt.Sprintf("a%d", i) }
	b.calm.await()
	seconds, err := atOnce(b.ctx, n, 4, func(i int) error { return t.do("new-session", "-d", "-s", name(i), "bash", "--norc") })
	if err != nil {
		return err
	}
	b.out.one(of+", all running", who, "ms", seconds*1000)
	peek, nudge := b.out.series(of+", peek", who, "ms", false), b.out.series(of+", nudge", who, "ms", false)
	if err := b.race(b.rounds(30, 5), t.lane(peek, "capture-pane", "-p", "-t", "=a1:"), t.lane(nudge, "send-keys", "-t", "=a1:", "echo nudge", "Enter")); err != nil {
		return err
	}
	begun := time.Now()
	if err := t.close(); err != nil {
		return err
	}
	b.out.one(of+", all gone", who, "ms", msSince(begun))
	return nil
}
