package main

import (
	"errors"
	"fmt"
	"time"
)

const mb = 1 << 20

// contestant is an emulator in Go and how much it is fed a sample: what takes
// each of them about a second at most.
type contestant struct {
	name        string
	warm, bytes int
}

var contestants = []contestant{
	{"den", 8 * mb, 48 * mb},
	{"charmbracelet/x/vt", 1 * mb, 1 * mb},
	{"vt10x", 1 * mb, 4 * mb},
}

// emulators measures bytes through a terminal emulator per second of CPU time.
func emulators(b *bench) (err error) {
	tmux, err := b.newTmux()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tmux.close()) }()
	for _, name := range streamNames {
		if err := b.emulatorStream(name, tmux); err != nil {
			return err
		}
	}
	b.out.note("CPU time of one process, garbage collection included; %d KiB writes, %dx%d, %d lines of scrollback (vt10x has none)", writeSize>>10, cols, rows, scrollback)
	b.out.note("tmux reads its input from a terminal, which is part of its system time: the line 'user time' leaves that out")
	return nil
}

func (b *bench) emulatorStream(name string, tmux *tmuxServer) error {
	file, err := b.streamFile(name, 16*mb)
	if err != nil {
		return err
	}
	speed := map[string]*series{}
	allocs := map[string]*series{}
	for _, c := range contestants {
		speed[c.name] = b.out.series(name, c.name, "MB/s", true)
	}
	server := b.out.series(name, "tmux, server", "MB/s", true)
	user := b.out.series(name, "tmux, user time", "MB/s", true)
	for _, c := range contestants {
		allocs[c.name] = b.out.series(name+" allocations", c.name, "/MB", false)
	}
	for range b.rounds(7, 2) {
		b.calm.await()
		for _, c := range contestants {
			res, err := b.emulate(c.name, file, c.warm, c.bytes)
			if b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			if err != nil && c.name != "den" {
				speed[c.name].Note = err.Error() // a peer's crash is a finding
				continue
			}
			if err != nil {
				return err
			}
			speed[c.name].add(float64(res.Bytes) / 1e6 / res.CPU.Seconds())
			allocs[c.name].add(float64(res.Mallocs) / (float64(res.Bytes) / 1e6))
		}
		if err := b.tmuxCat(tmux, name, server, user); err != nil {
			return err
		}
	}
	den := speed["den"]
	compare(den, speed["charmbracelet/x/vt"], speed["vt10x"], server, user)
	if tmux != nil {
		b.out.aim(name+": 6 x tmux", server.Ratio >= 6, "%.1f x (%.1f x its user time)", server.Ratio, user.Ratio)
	}
	a := allocs["den"].median()
	b.out.aim(name+": no allocations in the steady state", a < 1, "%s per MB", number(a))
	return nil
}

// tmuxCat lets a pane cat the stream and reads the server's CPU time.
func (b *bench) tmuxCat(t *tmuxServer, name string, server, user *series) error {
	if t == nil {
		return nil
	}
	bytes := pick(b, 16*mb, 6*mb)
	if name == "utf8" {
		bytes = 6 * mb // a second and more for tmux
	}
	warm, err := b.streamFile(name, 2*mb)
	if err != nil {
		return err
	}
	file, err := b.streamFile(name, bytes)
	if err != nil {
		return err
	}
	// Without output processing the pane's bytes are exactly the file's.
	script := fmt.Sprintf("stty -opost; cat %s; %s wait-for -S warm; %[2]s wait-for go; cat %[3]s; %[2]s wait-for -S done; exec sleep 1000", warm, t.bin, file)
	if err := t.do("new-session", "-d", "-s", "cat", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "sh", "-c", script); err != nil {
		return err
	}
	if err := t.do("wait-for", "warm"); err != nil {
		return err
	}
	u0, s0, err := cpuOf(t.pid)
	if err != nil {
		return err
	}
	if err := errors.Join(t.do("wait-for", "-S", "go"), t.do("wait-for", "done")); err != nil {
		return err
	}
	u1, s1, err := cpuOf(t.pid)
	if err != nil {
		return err
	}
	mbytes := float64(bytes) / 1e6
	server.add(mbytes / max(u1+s1-u0-s0, time.Millisecond).Seconds())
	user.add(mbytes / max(u1-u0, time.Millisecond).Seconds())
	return t.do("kill-session", "-t", "cat")
}
