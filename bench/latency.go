package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// verb is one thing done from a command line, by den and by tmux.
type verb struct {
	name      string
	den, tmux []string // without the program; NAME stands for the session
	limit     float64  // aim for den's median, in ms; 0: none
	ratio     float64  // aim for den's median over tmux'; 0: none
	denLine   *series
	tmuxLine  *series
}

// verbs in the order of a session's life, so that each finds what it needs.
func verbs() []*verb {
	return []*verb{
		{name: "new", den: []string{"new", "NAME", "cat", "-"}, tmux: []string{"new-session", "-d", "-s", "NAME", "cat", "-"}, limit: 25},
		{name: "type", den: []string{"type", "NAME", "hello", "--enter"}, tmux: []string{"send-keys", "-t", "NAME", "-l", "hello\n"}, limit: 8},
		{name: "wait --text, visible", den: []string{"wait", "NAME", "--text", "hello"}, limit: 8},
		{name: "keys", den: []string{"keys", "NAME", "C-l", "Up"}, tmux: []string{"send-keys", "-t", "NAME", "C-l", "Up"}, limit: 8},
		{name: "snapshot", den: []string{"snapshot", "NAME"}, tmux: []string{"capture-pane", "-p", "-t", "NAME"}, limit: 8, ratio: 2},
		{name: "snapshot --format json", den: []string{"snapshot", "NAME", "--format", "json", "-j"}, tmux: []string{"capture-pane", "-p", "-e", "-t", "NAME"}, limit: 8},
		{name: "history", den: []string{"history", "NAME"}, tmux: []string{"capture-pane", "-p", "-S", "-25", "-t", "NAME"}, limit: 8},
		{name: "status", den: []string{"status", "NAME"}, tmux: []string{"display-message", "-p", "-t", "NAME", "#{pane_pid} #{pane_current_command}"}, limit: 8},
		{name: "mark", den: []string{"mark", "NAME", "here"}, limit: 8},
		{name: "ls", den: []string{"ls"}, tmux: []string{"ls"}, limit: 8},
		{name: "resize", den: []string{"resize", "NAME", "100", "30"}, tmux: []string{"resize-window", "-t", "NAME", "-x", "100", "-y", "30"}, limit: 8},
		{name: "wait --ready", den: []string{"wait", "NAME", "--ready"}, limit: 8},
		{name: "kill", den: []string{"kill", "NAME"}, tmux: []string{"kill-session", "-t", "NAME"}, limit: 8},
		{name: "version", den: []string{"version"}, tmux: []string{"-V"}},
	}
}

// latency measures what a caller waits for one command, process start and all.
func latency(b *bench, home *denHome, tmux *tmuxServer) error {
	floor := b.out.series("/bin/true", "floor", "ms", false)
	hello := b.out.series("version", "Go hello world", "ms", false)
	helloBinary, err := b.buildHello()
	if err != nil {
		return err
	}
	all := verbs()
	for _, v := range all {
		v.denLine = b.out.series(v.name, "den", "ms", false)
		if v.tmux != nil {
			v.tmuxLine = b.out.series(v.name, "tmux", "ms", false)
		}
	}
	cold := b.out.series("new, no server yet", "tmux", "ms", false)
	for i := range b.rounds(120, 10) + 1 {
		if i == 1 { // the first round was for the caches
			for _, f := range b.out.current.Series {
				f.Values = nil
			}
		}
		b.calm.await()
		if err := b.life(i, all, home, tmux, floor, cold); err != nil {
			return err
		}
		ms, err := timed(home.env, helloBinary)
		if err != nil {
			return err
		}
		hello.add(ms)
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
	}
	for _, v := range all {
		if v.tmuxLine != nil {
			compare(v.denLine, v.tmuxLine)
		}
		if v.limit > 0 {
			m := v.denLine.median()
			b.out.aim(fmt.Sprintf("%s under %.0f ms", v.name, v.limit), m < v.limit, "%s ms", number(m))
		}
		if v.ratio > 0 && v.tmuxLine != nil {
			b.within(v.name, v.denLine, v.tmuxLine, "tmux", v.ratio)
		}
		if v.name == "version" {
			b.within(v.name, v.denLine, hello, "a Go hello world", 2)
		}
	}
	compare(all[0].denLine, cold)
	b.out.note("each round is one session's life; tmux asks a server that runs already, den starts a process for each session ('new' is to ready)")
	b.out.note("agent-tty 0.5.0, measured earlier, elsewhere: create 1646, run 644, wait 881, snapshot 599, destroy 874 ms; floor (node -e 0) 36 ms")
	return nil
}

// within holds den's median against a number of times that of another.
func (b *bench) within(what string, den, other *series, name string, times float64) {
	ratio := den.median() / other.median()
	b.out.aim(fmt.Sprintf("%s within %.0f x %s", what, times, name), ratio <= times, "%s x", number(ratio))
}

// life times every verb once, den and tmux in random order.
func (b *bench) life(i int, all []*verb, home *denHome, tmux *tmuxServer, floor, cold *series) error {
	name := fmt.Sprintf("s%d", i)
	sample := func(line *series, run func() (float64, error)) error {
		ms, err := run()
		line.add(ms)
		return err
	}
	if err := sample(floor, func() (float64, error) { return timed(home.env, "/bin/true") }); err != nil {
		return err
	}
	for _, v := range all {
		steps := []func() error{func() error {
			return sample(v.denLine, func() (float64, error) { return home.timed(named(v.den, name)...) })
		}}
		if v.tmux != nil && tmux != nil {
			steps = append(steps, func() error {
				return sample(v.tmuxLine, func() (float64, error) { return tmux.timed(named(v.tmux, name)...) })
			})
		}
		rand.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
	}
	// A list of sessions that are over would grow with the rounds.
	if err := home.do("gc"); err != nil {
		return err
	}
	if tmux == nil {
		return nil
	}
	return sample(cold, func() (float64, error) { return tmux.timedCold() })
}

func named(args []string, name string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "NAME" {
			a = name
		}
		out[i] = a
	}
	return out
}

// timedCold times the first session of a second server, as after a reboot.
func (t *tmuxServer) timedCold() (float64, error) {
	ms, err := t.timed("-L", "cold", "new-session", "-d", "cat", "-")
	return ms, errors.Join(err, t.do("-L", "cold", "kill-server"))
}
