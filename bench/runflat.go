package main

import "fmt"

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
