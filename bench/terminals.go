package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Who uses the tools of a tick.
const (
	byToolServer  = "den, by MCP"
	byCommandLine = "den kernel tool, cold"
)

// terminals measures the numbered terminals of agents that sleep and wake, and
// what a tick costs beside its model.
func terminals(b *bench) (err error) {
	home, err := b.newKernelHome()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, home.close()) }()
	if err := b.heldTerminals(home); err != nil {
		return err
	}
	if err := b.tickCosts(home); err != nil {
		return err
	}
	b.out.note("agent-kernel, measured earlier: a wait for what is done takes 1.5 to 6.5 s, and 2 to 5 processes are started for each terminal every half second, busy or not")
	return nil
}

func (b *bench) heldTerminals(home *denHome) (err error) {
	t, err := b.holdTick(home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, part := range []func(*heldTick) error{b.waitForDone, b.typeAndWait, b.twenty} {
		if err := part(t); err != nil {
			return err
		}
	}
	return nil
}

// coldTool is a use of a tool from a cold command line.
func (t *heldTick) coldTool(words ...string) (answer string, ms float64, err error) {
	begun := time.Now()
	out, err := capture(t.env, append([]string{t.home.bin, "kernel", "tool"}, words...)...)
	return string(out), msSince(begun), err
}

// waitForDone measures a wait that is called when there is nothing to wait for:
// the command has ended, and its output is there.
func (b *bench) waitForDone(t *heldTick) error {
	const of = "wait for what is done"
	warm := b.out.series(of, byToolServer, "ms", false)
	cold := b.out.series(of, byCommandLine, "ms", false)
	file := filepath.Join(t.dir, "done")
	i := 0 // commands so far
	behind := func(wait func(words string) (float64, error)) func() (float64, error) {
		return func() (float64, error) {
			i++
			if err := t.enter(0, fmt.Sprintf("echo done-$((%d)); touch %s", i, file)); err != nil {
				return 0, err
			}
			if err := awaitFile(file); err != nil {
				return 0, err
			}
			time.Sleep(50 * time.Millisecond) // the prompt is there by then
			ms, err := wait(fmt.Sprintf("\n  done-%d", i))
			return ms, errors.Join(err, os.Remove(file))
		}
	}
	err := b.race(b.rounds(50, 5), lane{warm, behind(func(words string) (float64, error) {
		return t.tools.expect("wait", map[string]any{"tty": 0}, words)
	})}, lane{cold, behind(func(words string) (float64, error) {
		answer, ms, err := t.coldTool("wait", "tty=0")
		return ms, errors.Join(err, mustHave("wait", words, answer))
	})})
	b.out.aim(of+" under 10 ms", warm.median() < 10, "%s ms", number(warm.median()))
	return err
}

func awaitFile(name string) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		_, err := os.Stat(name)
		if err == nil || time.Since(begun) > 30*time.Second {
			return err
		}
	}
}

// typeAndWait measures a command from its keystrokes to its answer.
func (b *bench) typeAndWait(t *heldTick) error {
	const of = "type a command and wait"
	warm := b.out.series(of, byToolServer, "ms", false)
	cold := b.out.series(of, byCommandLine, "ms", false)
	err := b.race(b.rounds(100, 10), lane{warm, took(func() error {
		if err := t.enter(0, "true"); err != nil {
			return err
		}
		_, err := t.tools.expect("wait", map[string]any{"tty": 0}, "ready")
		return err
	})}, lane{cold, func() (float64, error) {
		_, typed, terr := t.coldTool("type", "tty=0", "expect=bash", "text=true")
		_, waited, werr := t.coldTool("wait", "tty=0")
		return typed + waited, errors.Join(terr, werr)
	}})
	b.out.aim(of+" under 20 ms", warm.median() < 20, "%s ms", number(warm.median()))
	return err
}

// printLoop prints a line twice a second, and starts no process for it.
const printLoop = `while :; do printf '%(%T)T\n'; read -t 0.5 _; done`

// twenty measures what many terminals cost while nothing happens in them, and
// while all of them print.
func (b *bench) twenty(t *heldTick) error {
	const most = 20
	if err := b.cost("1 terminal, idle", t); err != nil {
		return err
	}
	if err := t.grow(most); err != nil {
		return err
	}
	if _, _, err := t.tools.call("wait", map[string]any{"timeout": 1}); err != nil {
		return err
	}
	if err := b.cost("20 terminals, idle", t); err != nil {
		return err
	}
	for n := range most {
		loop := map[string]any{"tty": n, "expect": "bash", "text": printLoop, "anyway": true}
		if _, _, err := t.tools.call("type", loop); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Second) // until all of them print
	b.out.note("processes started are those of the whole machine: see the difference to 1 terminal")
	return b.cost("20 terminals that print twice a second", t)
}

// cost measures what the processes of terminals, and that of their tick, use in
// a while.
func (b *bench) cost(of string, t *heldTick) error {
	window := pick(b, 10*time.Second, 3*time.Second)
	hosts, err := t.hosts()
	if err != nil {
		return err
	}
	idle := strings.HasSuffix(of, "idle")
	if idle {
		if err := awaitIdle(hosts, time.Minute); err != nil {
			b.out.note("%s: %v", of, err)
		}
	}
	b.calm.await()
	started := processes()
	used, err := b.used(window, hosts, []int{t.cmd.Process.Pid})
	if err != nil {
		return err
	}
	begun := processes() - started
	each := func(n int) float64 { return float64(n) / window.Seconds() }
	share := func(cpu time.Duration) float64 { return 100 * cpu.Seconds() / window.Seconds() }
	woke := used[0].switches
	b.out.one(of+", CPU", "den, hosts", "% of a core", share(used[0].cpu))
	b.out.one(of+", CPU", "den, tick", "% of a core", share(used[1].cpu))
	b.out.one(of+", wake-ups", "den, hosts", "a second", each(woke))
	b.out.one(of+", wake-ups", "den, tick", "a second", each(used[1].switches))
	b.out.one(of+", processes started", "all", "a second", each(begun))
	if idle {
		b.out.aim(of+": its hosts do not wake up", woke == 0, "%d times in %v", woke, window)
	}
	return nil
}

// processes counts the processes that this machine has started.
func processes() int {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0 // not a Linux
	}
	for line := range strings.Lines(string(raw)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "processes" {
			n, _ := strconv.Atoi(words[1])
			return n
		}
	}
	return 0
}
