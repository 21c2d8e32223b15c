package main

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// minds measures agents that talk: from a mention to the agent's prompt, what
// harnesses cost, and how 'up' and 'down' grow with them.
func minds(b *bench) error {
	for _, n := range pick(b, []int{1, 10, 50}, []int{1, 5}) {
		if err := b.team(n); err != nil {
			return fmt.Errorf("%d agents: %w", n, err)
		}
	}
	if err := b.pythonMemory(); err != nil {
		return err
	}
	if err := b.teamGrowth(pick(b, []int{10, 50, 100}, []int{5, 10})); err != nil {
		return err
	}
	b.out.note("agents are scripts, all in one channel: bash is started for each mention, reads it, and answers with the time")
	b.out.note("mentions come one after the other, each after the answer to the last; the figures include the disk's syncs")
	return nil
}

// team measures n agents that are up.
func (b *bench) team(n int) (err error) {
	t, err := b.newTeam(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if _, err := t.up(); err != nil {
		return err
	}
	if err := t.join(); err != nil {
		return err
	}
	if err := b.teamAtRest(t); err != nil {
		return err
	}
	return b.mentions(t)
}

// teamAtRest measures harnesses that nobody talks to.
func (b *bench) teamAtRest(t *team) error {
	pids, err := t.harnesses()
	if err != nil {
		return err
	}
	time.Sleep(25 * time.Second) // longer than a harness waits before it returns memory
	of := fmt.Sprintf("%d harnesses at rest", t.n)
	b.memory(of, "den, each", pids)
	var rss []float64
	for _, pid := range pids {
		m, err := readMemory(pid)
		if err != nil {
			return err
		}
		rss = append(rss, m.rss)
	}
	most := (&series{Values: rss}).quantile(1)
	b.out.aim(of+": each under 20 MB", most < 20, "the largest has %s MB (RSS)", number(most))
	window := pick(b, 20*time.Second, 3*time.Second)
	used, err := b.used(window, pids)
	if err != nil {
		return err
	}
	b.out.one(of+", CPU of all", "den", "% of a core", 100*float64(used[0].cpu)/float64(window))
	b.out.one(of+", wake-ups of all", "den", fmt.Sprintf("in %v", window), float64(used[0].switches))
	return nil
}

// teamGrowth measures how 'up' and 'down' grow with agents that talk.
func (b *bench) teamGrowth(sizes []int) error {
	var up, down []float64
	for _, n := range sizes {
		of := fmt.Sprintf("%d agents in a channel", n)
		ups := b.out.series(of+", up: all running", "den", "ms", false)
		joined := b.out.series(of+", up: all in the channel", "den", "ms", false)
		downs := b.out.series(of+", down: all gone", "den", "ms", false)
		for range b.rounds(3, 1) {
			if err := b.teamLife(n, ups, joined, downs); err != nil {
				return fmt.Errorf("%s: %w", of, err)
			}
		}
		up, down = append(up, joined.median()), append(down, downs.median())
	}
	b.growsAtMost("the agents that talk", sizes, up, down)
	return nil
}

// teamLife brings up a team and ends it.
func (b *bench) teamLife(n int, ups, joined, downs *series) (err error) {
	t, err := b.newTeam(n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	b.calm.await()
	begun := time.Now()
	ms, err := t.up()
	if err != nil {
		return err
	}
	ups.add(ms)
	if err := t.join(); err != nil {
		return err
	}
	joined.add(msSince(begun))
	b.calm.await()
	if ms, err = t.down(); err != nil {
		return err
	}
	downs.add(ms)
	return nil
}

// pythonMemory measures a process that can do nothing yet: what a harness in
// Python would begin with.
func (b *bench) pythonMemory() error {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.out.note("python3 is missing: install it to see the comparison")
		return nil
	}
	cmd := exec.Command(python, "-c", "import asyncio\nprint('ready', flush=True)\nasyncio.run(asyncio.sleep(1000))")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer kill(cmd)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("python3: %w", err)
	}
	time.Sleep(time.Second) // until its loop runs
	b.memory("one process that only waits", "python3, asyncio", []int{cmd.Process.Pid})
	return nil
}
