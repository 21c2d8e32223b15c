package native_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"den/internal/home"
	"den/internal/provider"
	"den/internal/provider/native"
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
