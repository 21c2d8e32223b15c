package tmux_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"den/internal/provider"
)

// TestMeasure logs what things cost; it asserts nothing about time.
func TestMeasure(t *testing.T) {
	needTmux(t)
	p := open(t, newSocket(t), "o")
	const sessions = 50
	together := func(what string, do func(name string) error) {
		t.Helper()
		begun := time.Now()
		var all sync.WaitGroup
		for i := range sessions {
			all.Go(func() {
				if err := do(fmt.Sprint("w", i)); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		all.Wait()
		t.Logf("%d times %s together: %v", sessions, what, time.Since(begun).Round(time.Millisecond))
	}
	ctx := t.Context()
	together("Start", func(name string) error {
		return p.Start(ctx, name, provider.Config{Argv: []string{"cat"}, WorkDir: "/"})
	})
	single := func(what string, do func(name string) error) {
		t.Helper()
		var took []time.Duration
		for i := range sessions {
			begun := time.Now()
			if err := do(fmt.Sprint("w", i)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		t.Logf("%s: median %v, slowest %v", what, took[len(took)/2].Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond))
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
