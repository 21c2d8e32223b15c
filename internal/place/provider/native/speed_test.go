package native_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"den/internal/place/provider"
	"den/internal/place/provider/native"
	"den/internal/session/home"
)

// BenchmarkStart starts and stops sessions; only the start is timed.
func BenchmarkStart(b *testing.B) {
	p := benchProvider(b)
	dir := b.TempDir()
	for b.Loop() {
		if err := p.Start(b.Context(), "w", provider.Config{Argv: []string{"/bin/cat"}, WorkDir: dir}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := p.Stop(b.Context(), "w"); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkAsk asks with 50 sessions at work.
func BenchmarkAsk(b *testing.B) {
	p := benchProvider(b)
	dir := b.TempDir()
	for i := range 50 {
		name := fmt.Sprintf("w-%d", i)
		if err := p.Start(b.Context(), name, provider.Config{Argv: []string{"/bin/cat"}, WorkDir: dir}); err != nil {
			b.Fatal(err)
		}
		defer p.Stop(b.Context(), name) // Best effort.
	}
	ctx := b.Context()
	for what, ask := range map[string]func() error{
		"ListRunning":  func() error { _, err := p.ListRunning(ctx, ""); return err },
		"IsRunning":    func() error { _, err := p.IsRunning(ctx, "w-7"); return err },
		"ProcessAlive": func() error { _, err := p.ProcessAlive(ctx, "w-7", []string{"cat"}); return err },
		"Peek":         func() error { _, err := p.Peek(ctx, "w-7", 50); return err },
		"Activity":     func() error { _, err := p.GetLastActivity(ctx, "w-7"); return err },
		"SetMeta":      func() error { return p.SetMeta(ctx, "w-7", "k", "v") },
		"GetMeta":      func() error { _, err := p.GetMeta(ctx, "w-7", "k"); return err },
		"Nudge":        func() error { return p.Nudge(ctx, "w-7", "hello") },
	} {
		b.Run(what, func(b *testing.B) {
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchProvider(b *testing.B) *native.Provider {
	b.Helper()
	return open(b, home.Home{Path: filepath.Join(b.TempDir(), "home"), Explicit: true}, "city")
}

// BenchmarkGrowth brings ever more sessions up and down, all at once, as a
// keeper does: the time a session takes should not grow with their number.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{50, 100, 200, 400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := benchProvider(b)
			c := provider.Config{Argv: []string{"/bin/cat"}, WorkDir: b.TempDir()}
			took := map[string]time.Duration{}
			for b.Loop() {
				took["up"] += all(b, n, func(name string) error { return p.Start(b.Context(), name, c) })
				took["list"] += all(b, 10, func(string) error { _, err := p.ListRunning(b.Context(), ""); return err })
				took["observe"] += all(b, 10, func(string) error { _, err := p.Observe(b.Context(), ""); return err })
				took["down"] += all(b, n, func(name string) error { return p.Stop(b.Context(), name) })
			}
			for what, d := range took {
				calls := n
				if what == "list" || what == "observe" {
					calls = 10 * n // a session's part of one call
				}
				b.ReportMetric(float64(d.Microseconds())/float64(b.N*calls), "µs/session-"+what)
			}
		})
	}
}

// all does something for n sessions at the same time and returns how long that
// took.
func all(b *testing.B, n int, do func(name string) error) time.Duration {
	b.Helper()
	begun := time.Now()
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			if err := do(fmt.Sprintf("w-%d", i)); err != nil {
				b.Error(err)
			}
		})
	}
	work.Wait()
	return time.Since(begun)
}
