package main

import (
	"errors"
	"fmt"
	"time"
)

// idle measures what a session costs while nothing happens in it.
func idle(b *bench, home *denHome, tmux *tmuxServer) error {
	var hosts []int
	grow := func(to int) error {
		for i := len(hosts); i < to; i++ {
			name := fmt.Sprintf("s%d", i)
			if err := home.do("new", name, "cat", "-"); err != nil {
				return err
			}
			s, err := home.status(name)
			if err != nil {
				return err
			}
			hosts = append(hosts, s.HostPID)
			if tmux != nil && i > 0 { // the server has its first one
				if err := tmux.do("new-session", "-d", "-s", name, "cat", "-"); err != nil {
					return err
				}
			}
		}
		return nil
	}
	const few = 20
	for _, n := range []int{1, few} {
		if err := grow(n); err != nil {
			return err
		}
		if err := b.idleFor(n, hosts, tmux); err != nil {
			return err
		}
		if n == 1 {
			if err := b.afterSnapshot(home, hosts); err != nil {
				return err
			}
		}
	}
	if err := b.afterFlood(home); err != nil {
		return err
	}
	b.out.note("PSS counts the pages of the binary that the host touched, shared evenly among those who map it")
	b.out.note("agent-tty 0.5.0, measured earlier, elsewhere: 158 MB PSS for one idle host, 110 MB each for 15")
	return nil
}

// idleFor reads memory and wake-ups with n sessions.
func (b *bench) idleFor(n int, hosts []int, tmux *tmuxServer) error {
	window := pick(b, 10*time.Second, 3*time.Second)
	if err := awaitIdle(hosts, time.Minute); err != nil {
		b.out.note("%v", err)
	}
	var server []int
	if tmux != nil {
		server = []int{tmux.pid}
	}
	used, err := b.used(window, hosts, server)
	if err != nil {
		return err
	}
	of := fmt.Sprintf("%d sessions", n)
	per := "each host"
	if n == 1 {
		of, per = "1 session", "host"
	}
	den := b.memory(of, "den, "+per, hosts)
	woke := float64(used[0].switches)
	b.out.one(of+", wake-ups", "den", fmt.Sprintf("in %v", window), woke)
	b.out.one(of+", CPU", "den", "ms", float64(used[0].cpu.Milliseconds()))
	b.out.aim(fmt.Sprintf("%s: under 6 MB PSS a host", of), den < 6, "%s MB", number(den))
	b.out.aim(fmt.Sprintf("%s: no wake-ups", of), woke == 0, "%.0f in %v", woke, window)
	if tmux != nil {
		b.memory(of, "tmux, server", server)
		b.out.one(of+", wake-ups", "tmux", fmt.Sprintf("in %v", window), float64(used[1].switches))
		b.out.one(of+", CPU", "tmux", "ms", float64(used[1].cpu.Milliseconds()))
	}
	return nil
}

// memory adds the lines on memory for some processes and returns the median PSS.
func (b *bench) memory(of, who string, pids []int) float64 {
	pss := b.out.series(of+", PSS", who, "MB", false)
	rss := b.out.series(of+", RSS", who, "MB", false)
	private := b.out.series(of+", private", who, "MB", false)
	for _, pid := range pids {
		m, err := readMemory(pid)
		if err != nil {
			b.out.note("memory of %s: %v", who, err)
			continue
		}
		pss.add(m.pss)
		rss.add(m.rss)
		private.add(m.private)
	}
	return pss.median()
}

type active struct {
	switches int
	cpu      time.Duration
}

func activity(pids []int) (active, error) {
	var a active
	for _, pid := range pids {
		n, err := switches(pid)
		if err != nil {
			return a, err
		}
		cpu, err := onCPU(pid)
		if err != nil {
			return a, err
		}
		a.switches += n
		a.cpu += cpu
	}
	return a, nil
}

// used is what groups of processes use while the benchmark rests.
func (b *bench) used(window time.Duration, groups ...[]int) ([]active, error) {
	was, err := activities(groups)
	if err == nil {
		err = b.rest(window)
	}
	if err != nil {
		return nil, err
	}
	now, err := activities(groups)
	for i := range now {
		now[i].switches -= was[i].switches
		now[i].cpu -= was[i].cpu
	}
	return now, err
}

func activities(groups [][]int) (all []active, err error) {
	for _, pids := range groups {
		a, aerr := activity(pids)
		all, err = append(all, a), errors.Join(err, aerr)
	}
	return all, err
}

// afterSnapshot measures a host at rest that was asked for its screen: no input
// and no output, and yet it had to run.
func (b *bench) afterSnapshot(home *denHome, hosts []int) error {
	if err := home.do("snapshot", "s0"); err != nil {
		return err
	}
	if err := awaitIdle(hosts, time.Minute); err != nil {
		b.out.note("%v", err)
	}
	b.memory("1 session, after a snapshot", "den, host", hosts)
	return nil
}

// afterFlood measures a host whose scrollback is full.
func (b *bench) afterFlood(home *denHome) error {
	file, err := b.textFile(10_000_000)
	if err != nil {
		return err
	}
	if err := home.do("new", "flood", "--", "sh", "-c", `cat "$1"; echo over-and-out; exec cat`, "sh", file); err != nil {
		return err
	}
	if err := home.do("wait", "flood", "--text", "over-and-out"); err != nil {
		return err
	}
	s, err := home.status("flood")
	if err != nil {
		return err
	}
	if err := awaitIdle([]int{s.HostPID}, time.Minute); err != nil {
		b.out.note("%v", err)
	}
	b.memory("after 10 MB of output", "den, host of 21", []int{s.HostPID})
	return nil
}
