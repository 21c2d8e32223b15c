package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// cells measures code run in a shell from a cold command line: sent, waited
// for, and its output read.
func cells(b *bench, home *denHome, tmux *tmuxServer) error {
	if err := home.do("new", "sh", "bash", "--norc"); err != nil {
		return err
	}
	if err := tmux.do("new-session", "-d", "-s", "sh", "-x", "120", "-y", "40", "bash", "--norc"); err != nil {
		return err
	}
	for _, code := range []string{"true", "echo hello"} {
		den := b.out.series("run '"+code+"'", "den run", "ms", false)
		peer := b.out.series("run '"+code+"'", "tmux send-keys, capture-pane until done", "ms", false)
		polled := lane{peer, took(func() error { return tmux.typeAndPoll(code, len(peer.Values)) })}
		if err := b.race(b.rounds(200, 20), home.lane(den, "run", "sh", code), polled); err != nil {
			return err
		}
		compare(den, peer)
		m := den.median()
		b.out.aim("run '"+code+"' under 10 ms", m < 10, "%s ms", number(m))
	}
	b.out.note("tmux knows no end: the code types a marker after itself, and the caller reads the screen until it is there")
	for _, part := range []func(*denHome) error{b.innerCells, b.muchOutput, b.warmCells, b.flatCells} {
		if err := part(home); err != nil {
			return err
		}
	}
	return nil
}

// innerCells measures code in a shell that den did not start: it got its marks with
// its first cell.
func (b *bench) innerCells(home *denHome) error {
	if err := home.do("new", "inner", "env", "bash", "--norc"); err != nil {
		return err
	}
	if err := home.do("run", "inner", "true"); err != nil {
		return err
	}
	const of = "run 'true', inner shell"
	own, inner := b.out.series(of, "in the session's shell", "ms", false), b.out.series(of, "in one inside it", "ms", false)
	if err := b.race(b.rounds(200, 20), home.lane(own, "run", "sh", "true"), home.lane(inner, "run", "inner", "true")); err != nil {
		return err
	}
	compare(inner, own)
	return nil
}

// typeAndPoll is how a caller runs a command with tmux alone.
func (t *tmuxServer) typeAndPoll(code string, i int) error {
	marker := fmt.Sprintf("end-%d-", i)
	if err := t.do("send-keys", "-t", "sh", fmt.Sprintf("%s; echo end-%d''-$?", code, i), "Enter"); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		out, err := capture(t.env, t.argv("capture-pane", "-p", "-t", "sh")...)
		if err != nil {
			return err
		}
		if bytes.Contains(out, []byte(marker)) {
			return nil
		}
	}
	return fmt.Errorf("tmux: %q did not end", code)
}

// muchOutput runs a command with many lines and checks every one of them.
func (b *bench) muchOutput(home *denHome) error {
	var want strings.Builder
	for i := range 100_000 {
		fmt.Fprintln(&want, i+1)
	}
	s := b.out.series("100,000 lines", "den run", "ms", false)
	exact, n := 0, b.rounds(10, 3)
	for range n {
		var r struct {
			Output string `json:"output"`
			File   string `json:"output_file"`
		}
		if err := b.race(1, lane{s, took(func() error { return home.ask(&r, "run", "sh", "seq 1 100000", "-t", "60", "-j") })}); err != nil {
			return err
		}
		kept, err := os.ReadFile(r.File)
		if err == nil && string(kept) == want.String() && r.Output+"\n" == want.String() {
			exact++
		}
	}
	m := s.median()
	b.out.aim("100,000 lines under 500 ms", m < 500, "%s ms", number(m))
	b.out.aim("100,000 lines exact", exact == n, "%d of %d", exact, n)
	return nil
}

// flatCells measures `den run` against how much the session has printed before.
func (b *bench) flatCells(home *denHome) error {
	sizes := []*logSize{{name: "nothing", bytes: 0}, {name: "10 MB", bytes: 1e7}, {name: "100 MB", bytes: 1e8}}
	if !b.quick {
		sizes = append(sizes, &logSize{name: "1 GB", bytes: 1e9})
	}
	for _, s := range sizes {
		if err := b.fillShell(home, s); err != nil {
			return err
		}
	}
	args := func(s *logSize) []string { return []string{"run", s.session(), "echo hello"} }
	const of = "run 'echo hello', much before"
	if err := b.takeSnapshots(home, sizes, of, b.rounds(100, 10), args, false); err != nil {
		return err
	}
	all := b.out.current.Series
	first, last := all[len(all)-len(sizes)].median(), all[len(all)-1].median()
	// A quarter more is within what the machine's noise does.
	b.out.aim(of+": flat from an empty log to "+sizes[len(sizes)-1].name, last < 1.25*first, "%s ms and %s ms", number(first), number(last))
	return nil
}

// fillShell starts a shell and lets it print so many bytes outside of any cell.
func (b *bench) fillShell(home *denHome, s *logSize) error {
	if err := home.do("new", "--log-limit", "0", s.session(), "bash", "--norc"); err != nil {
		return err
	}
	line := fmt.Sprintf("yes 'the quick brown fox jumps over the lazy dog and then over the moon' | head -c %d; echo; echo that''-was-it", s.bytes)
	if err := home.do("type", s.session(), line, "--enter"); err != nil {
		return err
	}
	return home.do("wait", s.session(), "--text", "that-was-it", "--ready", "-t", "10m")
}
