package tmux_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"den/internal/place/provider"
)

// BenchmarkFifty logs what things cost among fifty sessions.
func BenchmarkFifty(b *testing.B) {
	needTmux(b)
	for b.Loop() {
		fifty(b)
	}
}

func fifty(b *testing.B) {
	p := open(b, newSocket(b), "o")
	const sessions = 50
	together := func(what string, do func(name string) error) {
		b.Helper()
		begun := time.Now()
		var all sync.WaitGroup
		for i := range sessions {
			all.Go(func() {
				if err := do(fmt.Sprint("w", i)); err != nil {
					b.Errorf("%s: %v", what, err)
				}
			})
		}
		all.Wait()
		b.Logf("%d times %s together: %v", sessions, what, time.Since(begun).Round(time.Millisecond))
	}
	ctx := b.Context()
	together("Start", func(name string) error {
		return p.Start(ctx, name, provider.Config{Argv: []string{"cat"}, WorkDir: "/"})
	})
	single := func(what string, do func(name string) error) {
		b.Helper()
		var took []time.Duration
		for i := range sessions {
			begun := time.Now()
			if err := do(fmt.Sprint("w", i)); err != nil {
				b.Errorf("%s: %v", what, err)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		b.Logf("%s: median %v, slowest %v", what, took[len(took)/2].Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
	}
	single("IsRunning", func(name string) error { _, err := p.IsRunning(ctx, name); return err })
	single("ListRunning", func(string) error { _, err := p.ListRunning(ctx, ""); return err })
	single("ProcessAlive", func(name string) error { _, err := p.ProcessAlive(ctx, name, []string{"cat"}); return err })
	single("Peek(50)", func(name string) error { _, err := p.Peek(ctx, name, 50); return err })
	single("SetMeta", func(name string) error { return p.SetMeta(ctx, name, "k", "v") })
	single("GetMeta", func(name string) error { _, err := p.GetMeta(ctx, name, "k"); return err })
	single("Nudge", func(name string) error { return p.Nudge(ctx, name, "hello") })
	together("Stop", func(name string) error { return p.Stop(ctx, name) })
	single("Start", func(name string) error {
		return p.Start(ctx, name, provider.Config{Argv: []string{"cat"}, WorkDir: "/"})
	})
	single("Stop", func(name string) error { return p.Stop(ctx, name) })
}
