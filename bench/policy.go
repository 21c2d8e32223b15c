package main

import (
	"strings"
	"time"

	"den/internal/agent/permission"
)

// policies measures how long the policy takes to decide on a command, with five
// rules, and how that grows with the command's length.
func policies(b *bench) error {
	p, err := permission.NewPolicy(permission.Settings{Dir: b.tmp, Home: b.tmp, Rules: []permission.Rule{
		{Outcome: permission.Allow, Command: "go test *"},
		{Outcome: permission.Allow, Command: "git *"},
		{Outcome: permission.Deny, Command: "git push *"},
		{Outcome: permission.Deny, Path: "**/.env"},
		{Outcome: permission.Ask, Kind: permission.Fetch},
	}})
	if err != nil {
		return err
	}
	const step = "cat src/a.go | grep -n 'func.*x' | wc -l; "
	for _, row := range []struct{ name, line string }{
		{"git status", "git status"},
		{"a usual command", `cd src && go test ./... 2>&1 | grep -v "no test files" | head -n 50`},
		{"a command of 1 KB", strings.Repeat(step, 25)},
		{"a command of 10 KB", strings.Repeat(step, 250)},
	} {
		line := b.out.series("decide on "+row.name, "den", "µs", false)
		request := permission.Request{Tool: "Bash", Kind: permission.Execute, Command: row.line, Dir: b.tmp}
		p.Decide(request) // for the caches
		for range b.rounds(200, 20) {
			began := time.Now()
			p.Decide(request)
			line.add(float64(time.Since(began).Nanoseconds()) / 1e3)
		}
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
	}
	return nil
}
