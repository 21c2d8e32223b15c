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
	sizes := []int{10, 50}
	if b.quick {
		sizes = []int{5}
	}
	for _, n := range sizes {
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
	sizes := []int{50, 100, 200, 400}
	if b.quick {
		sizes = []int{5, 10}
	}
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
	times := float64(sizes[last]) / float64(sizes[0])
	b.out.aim(fmt.Sprintf("%.0f times the agents take at most %.0f times as long", times, times), up[last] <= times*up[0] && down[last] <= times*down[0],
		"up %.1f times, down %.1f times", up[last]/up[0], down[last]/down[0])
	return nil
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
	for i := range n {
		config += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = [\"bash\", \"--norc\"]\n", i)
	}
	return b.newWorkspace(config)
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
	cold := map[string]*series{}
	warm := map[string]*series{}
	for _, verb := range []string{"peek", "nudge"} {
		cold[verb] = b.out.series(of+", "+verb, who, "ms", false)
		warm[verb] = b.out.series(of+", "+verb+", connected", who, "ms", false)
	}
	for i := range b.rounds(30, 5) {
		b.calm.await()
		for verb, args := range map[string][]string{"peek": {"agent", "peek", "a1"}, "nudge": {"agent", "nudge", "a1", fmt.Sprintf("echo nudge %d", i)}} {
			ms, err := home.timed(args...)
			if err != nil {
				return err
			}
			cold[verb].add(ms)
		}
		begun := time.Now()
		if err := c.Call(b.ctx, keeper.MethodPeek, keeper.Agent{Name: "a1", Lines: 50}, nil); err != nil {
			return err
		}
		warm["peek"].add(msSince(begun))
		begun = time.Now()
		var n keeper.Nudged
		if err := c.Call(b.ctx, keeper.MethodNudge, keeper.Agent{Name: "a1", Text: fmt.Sprintf("echo warm %d", i), Wait: true}, &n); err != nil {
			return err
		}
		if n.Status != "taken" {
			return fmt.Errorf("a nudge is %s: %s", n.Status, n.Note)
		}
		warm["nudge"].add(msSince(begun))
	}
	if kind == "native" {
		b.out.aim(of+": peek under 5 ms", warm["peek"].median() < 5, "%.1f ms, %.1f from a cold command line", warm["peek"].median(), cold["peek"].median())
		b.out.aim(of+": a nudge confirmed under 50 ms", warm["nudge"].median() < 50, "%.1f ms, %.1f from a cold command line", warm["nudge"].median(), cold["nudge"].median())
	}
	return nil
}

func msSince(begun time.Time) float64 { return float64(time.Since(begun).Microseconds()) / 1000 }

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
	look := 35 * time.Second // a whole patrol
	if b.quick {
		look = 5 * time.Second
	}
	u0, s0, err := cpuOf(ps.Keeper)
	if err != nil {
		return err
	}
	select {
	case <-time.After(look):
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
	u1, s1, err := cpuOf(ps.Keeper)
	if err != nil {
		return err
	}
	share := 100 * float64(u1+s1-u0-s0) / float64(look)
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
	for i := range b.rounds(30, 5) {
		ms, err := t.timed("capture-pane", "-p", "-t", "=a1:")
		if err != nil {
			return err
		}
		peek.add(ms)
		if ms, err = t.timed("send-keys", "-t", "=a1:", fmt.Sprintf("echo nudge %d", i), "Enter"); err != nil {
			return err
		}
		nudge.add(ms)
	}
	begun := time.Now()
	if err := t.close(); err != nil {
		return err
	}
	b.out.one(of+", all gone", who, "ms", msSince(begun))
	return nil
}
