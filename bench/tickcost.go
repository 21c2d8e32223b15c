package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// shortMind does what a tick requires, and no more.
const shortMind = `#!/bin/sh
cat >/dev/null
den kernel tool login >&2
den kernel tool close tty=0 >&2
echo done
`

// tickCosts measures ticks whose mind is a script: all of it is den's, and the
// script's.
func (b *bench) tickCosts(home *denHome) error {
	if _, err := home.newMind("short", shortMind); err != nil {
		return err
	}
	if err := home.do("kernel", "init", "demo", "--example"); err != nil {
		return err
	}
	short := b.out.series("a tick that logs in, closes its terminal and speaks", "den kernel tick", "ms", false)
	demo := b.out.series("the example's tick", "den kernel tick", "ms", false)
	tick := func(name string) func() (float64, error) { return func() (float64, error) { return home.tick(name) } }
	if err := b.race(b.rounds(20, 3), lane{short, tick("short")}, lane{demo, tick("demo")}); err != nil {
		return err
	}
	demo.Note = "two turns, eight uses of tools, hooks"
	if _, err := exec.LookPath("git"); err == nil {
		demo.Note += ", a commit"
	}
	b.out.aim("the example's tick under 500 ms", demo.median() < 500, "%s ms", number(demo.median()))
	return nil
}

// tick runs a tick from a cold command line, which must end normally.
func (h *denHome) tick(name string) (ms float64, err error) {
	begun := time.Now()
	raw, err := capture(h.env, h.bin, "kernel", "tick", name, "-j")
	if err != nil {
		return 0, err
	}
	ms = msSince(begun)
	var r struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return 0, err
	}
	if r.Reason != "normal" {
		return 0, fmt.Errorf("the tick of %s ended as %s", name, r.Reason)
	}
	return ms, nil
}
