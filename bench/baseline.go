package main

import (
	"fmt"
	"strings"
)

// baselines measures waits with a baseline (--after): against how much the
// session printed before, and against the size of its screen.
func baselines(b *bench, home *denHome) error {
	n := b.rounds(100, 10)
	logs := []*logSize{{name: "1 MB", bytes: 1e6}, {name: "10 MB", bytes: 1e7}, {name: "100 MB", bytes: 1e8}}
	for _, s := range logs {
		if err := b.fill(home, s, ""); err != nil {
			return err
		}
	}
	without := func(s *logSize) []string { return []string{"wait", s.session(), "--text", "that-was-it"} }
	with := func(s *logSize) []string { return append(without(s), "--after", "1") }
	if err := b.takeSnapshots(home, logs, "wait --text", n, without, true); err != nil {
		return err
	}
	if err := b.takeSnapshots(home, logs, "wait --text --after", n, with, true); err != nil {
		return err
	}
	if err := b.screenSizes(home, n); err != nil {
		return err
	}
	return b.costlyBaseline(home, n)
}

// costlyBaseline measures the wait that has most to look at: the text stands
// all over the largest screen, and only the last row was written after the
// baseline.
func (b *bench) costlyBaseline(home *denHome, n int) error {
	const name = "costly"
	row := strings.Repeat("that-was-it ", 41)
	err := home.do("new", "--cols", "500", "--rows", "200", name, "--", "sh", "-c", "yes '"+row+"' | head -n 5000; read x; echo now that-was-it; exec cat")
	if err != nil {
		return err
	}
	if err := home.do("wait", name, "--ready"); err != nil {
		return err
	}
	last, err := home.status(name)
	if err != nil {
		return err
	}
	if err := home.do("keys", name, "Enter"); err != nil {
		return err
	}
	if err := home.do("wait", name, "--text", "now that-was-it"); err != nil {
		return err
	}
	for _, kind := range []string{"--text", "--regex"} {
		args := []string{"wait", name, kind, "that-was-it"}
		plain := b.out.series("wait "+kind, "den, 500x200, 8,200 matches", "ms", false)
		baseline := b.out.series("wait "+kind+" --after", "den, 500x200, the last of 8,200 matches", "ms", false)
		if err := b.race(n, home.lane(plain, args...), home.lane(baseline, append(args, "--after", fmt.Sprint(last.Seq))...)); err != nil {
			return err
		}
		without, with := plain.median(), baseline.median()
		b.out.aim("a baseline costs at most 5 ms where all but the last match are older, "+kind, with < without+5, "%s ms and %s ms", number(without), number(with))
	}
	return nil
}

// screenSizes measures waits on screens full of what they look for.
func (b *bench) screenSizes(home *denHome, n int) error {
	screens := []string{"80x24", "200x60", "500x200"}
	var lanes []lane // without a baseline, and with one
	for _, size := range screens {
		cols, rows, _ := strings.Cut(size, "x")
		err := home.do("new", "--cols", cols, "--rows", rows, "s"+size, "--", "sh", "-c", "yes that-was-it | head -n 5000; exec cat")
		if err != nil {
			return err
		}
		if err := home.do("wait", "s"+size, "--ready"); err != nil {
			return err
		}
		lanes = append(lanes,
			home.lane(b.out.series("wait --text", "den, "+size, "ms", false), "wait", "s"+size, "--text", "that-was-it"),
			home.lane(b.out.series("wait --text --after", "den, "+size, "ms", false), "wait", "s"+size, "--text", "that-was-it", "--after", "1"))
	}
	if err := b.race(n, lanes...); err != nil {
		return err
	}
	for i, size := range screens {
		without, with := lanes[2*i].line.median(), lanes[2*i+1].line.median()
		// A quarter more is within what the machine's noise does.
		b.out.aim(fmt.Sprintf("a baseline costs nothing on %s", size), with < 1.25*without, "%s ms and %s ms", number(without), number(with))
	}
	return nil
}
