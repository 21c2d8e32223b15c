package main

import (
	"fmt"
	"strconv"
	"syscall"
)

// logSize is a session with so much in its log.
type logSize struct {
	name  string
	bytes int
	seq   uint64 // in the middle
}

func (l *logSize) session() string { return fmt.Sprintf("log%d", l.bytes) }

// snapshots measures how long a look at the screen takes when much has
// happened before: now, in the past, after the end, and after a crash.
func snapshots(b *bench, home *denHome) error {
	sizes := []*logSize{{name: "1 MB", bytes: 1e6}, {name: "10 MB", bytes: 1e7}, {name: "100 MB", bytes: 1e8}}
	if !b.quick {
		sizes = append(sizes, &logSize{name: "1 GB", bytes: 1e9})
	}
	for _, s := range sizes {
		for _, suffix := range []string{"", "x"} { // the second one will crash
			if err := b.fill(home, s, suffix); err != nil {
				return err
			}
		}
	}
	n := b.rounds(30, 5)
	if err := b.takeSnapshots(home, sizes, "running", n, nowArgs, true); err != nil {
		return err
	}
	if err := b.takeSnapshots(home, sizes, "running, in the middle of the log", n, middleArgs, false); err != nil {
		return err
	}
	for _, s := range sizes {
		if err := home.do("kill", s.session()); err != nil {
			return err
		}
		st, err := home.status(s.session() + "x")
		if err != nil {
			return err
		}
		if err := syscall.Kill(st.HostPID, syscall.SIGKILL); err != nil {
			return err
		}
	}
	if err := b.takeSnapshots(home, sizes, "over", n, nowArgs, true); err != nil {
		return err
	}
	crashed := func(s *logSize) []string { return []string{"snapshot", s.session() + "x"} }
	if err := b.takeSnapshots(home, sizes, "host killed", n, crashed, false); err != nil {
		return err
	}
	b.out.note("a crashed host leaves no last picture: its last segment, 16 MiB at most, is played again, as for a look into the past")
	b.out.note("agent-tty 0.5.0, measured earlier, elsewhere: after the end 2.4 s at 1 MB, 3.6 s at 10 MB, an error at 50 MB")
	return nil
}

// fill starts a session whose program prints so many bytes and then waits.
func (b *bench) fill(home *denHome, s *logSize, suffix string) error {
	name := s.session() + suffix
	err := home.do("new", "--log-limit", "0", name, "--", "sh", "-c",
		`yes 'the quick brown fox jumps over the lazy dog and then over the moon' | head -c "$1"; echo; echo that-was-it; exec cat`, "sh", strconv.Itoa(s.bytes))
	if err != nil {
		return err
	}
	if err := home.do("wait", name, "--text", "that-was-it", "-t", "10m"); err != nil {
		return err
	}
	st, err := home.status(name)
	s.seq = st.Seq / 2
	return err
}

func nowArgs(s *logSize) []string { return []string{"snapshot", s.session()} }

func middleArgs(s *logSize) []string {
	return []string{"snapshot", s.session(), "--seq", fmt.Sprint(s.seq)}
}

// takeSnapshots takes n snapshots of each size, in turn.
func (b *bench) takeSnapshots(home *denHome, sizes []*logSize, of string, n int, args func(*logSize) []string, flat bool) error {
	var lanes []lane
	for _, s := range sizes {
		lanes = append(lanes, home.lane(b.out.series(of, "den, log of "+s.name, "ms", false), args(s)...))
	}
	if err := b.race(n, lanes...); err != nil {
		return err
	}
	if flat {
		first, last := lanes[0].line.median(), lanes[len(lanes)-1].line.median()
		// A quarter more is within what the machine's noise does.
		b.out.aim(of+": flat from 1 MB to "+sizes[len(sizes)-1].name, last < 1.25*first, "%s ms and %s ms", number(first), number(last))
	}
	return nil
}
