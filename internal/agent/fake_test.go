package agent_test

import (
	"context"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// fake is a provider in memory whose sessions are functions of what is typed.
// It can misbehave: hooks stand in for single methods.
type fake struct {
	provider.Provider // nil: what is not below is not asked for

	mu       sync.Mutex // guards the fields below
	sessions map[string]*fakeSession
	calls    []string

	onStart func(s *fakeSession) // the program's first screen
	onKey   func(s *fakeSession, key string)
	onNudge func(s *fakeSession, text string) error
	onType  func(s *fakeSession, text string) error
	onInput func()
	input   provider.Input // what Input answers
	deaf    error          // Input fails with it
	typed   time.Time      // when a person last typed; attached if not zero
	busy    bool           // AwaitReady does not return
}

type fakeSession struct {
	config provider.Config
	screen string
	exit   *provider.Exit
	meta   map[string]string
	draft  string // in its composer
}

// onClockOfItsOwn runs a test of fakes beside others. Its clock goes on to the
// next event when nothing is left to do: waits take no time, and no load makes
// them too short. What waits for a command's end stops the clock.
func onClockOfItsOwn(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func newFake() *fake {
	return &fake{sessions: map[string]*fakeSession{}, input: provider.Input{UnfinishedKnown: true}}
}

func (f *fake) with(name string, do func(*fakeSession) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	if s == nil {
		return fault.Errorf(fault.NotFound, "no session %q", name)
	}
	return do(s)
}

// change lets a test be the program.
func (f *fake) change(name string, do func(*fakeSession)) {
	_ = f.with(name, func(s *fakeSession) error { do(s); return nil })
}

func (f *fake) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, " ")
}

func (f *fake) Start(_ context.Context, name string, c provider.Config) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sessions[name]; s != nil && s.exit == nil {
		return fault.Errorf(fault.Busy, "there already")
	}
	s := &fakeSession{config: c, meta: maps.Clone(c.Meta)}
	if s.meta == nil {
		s.meta = map[string]string{}
	}
	f.sessions[name] = s
	if f.onStart != nil {
		f.onStart(s)
	}
	return nil
}

func (f *fake) Stop(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, "stop")
	if s := f.sessions[name]; s != nil && s.exit == nil {
		s.exit = &provider.Exit{Code: 143, Signal: "SIGTERM"}
	}
	return nil
}

func (f *fake) Interrupt(_ context.Context, name string) error {
	return f.with(name, func(*fakeSession) error { return nil })
}

func (f *fake) IsRunning(_ context.Context, name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[name]
	return s != nil && s.exit == nil, nil
}

func (f *fake) ProcessAlive(ctx context.Context, name string, _ []string) (bool, error) {
	return f.IsRunning(ctx, name)
}

func (f *fake) Attach(context.Context, string, *os.File, *os.File) error {
	return fault.Errorf(fault.Unsupported, "no terminal")
}

func (f *fake) Nudge(_ context.Context, name, text string) error {
	return f.with(name, func(s *fakeSession) error {
		f.calls = append(f.calls, "nudge")
		if s.exit != nil {
			return fault.Errorf(fault.NotRunning, "over")
		}
		if f.onNudge != nil {
			return f.onNudge(s, text)
		}
		s.screen += "\n" + text
		return nil
	})
}

func (f *fake) Type(_ context.Context, name, text string) error {
	return f.with(name, func(s *fakeSession) error {
		f.calls = append(f.calls, "type")
		if s.exit != nil {
			return fault.Errorf(fault.NotRunning, "over")
		}
		if f.onType != nil {
			return f.onType(s, text)
		}
		s.screen += "\n" + text
		return nil
	})
}

func (f *fake) Input(_ context.Context, name string) (in provider.Input, err error) {
	err = f.with(name, func(*fakeSession) error {
		if f.onInput != nil {
			f.onInput()
		}
		in = f.input
		return f.deaf
	})
	return in, err
}

func (f *fake) SendKeys(_ context.Context, name string, chords ...string) error {
	return f.with(name, func(s *fakeSession) error {
		for _, key := range chords {
			f.calls = append(f.calls, key)
			if f.onKey != nil {
				f.onKey(s, key)
			}
		}
		return nil
	})
}

func (f *fake) Peek(_ context.Context, name string, n int) (text string, err error) {
	err = f.with(name, func(s *fakeSession) error {
		lines := strings.Split(strings.TrimRight(s.screen, "\n "), "\n")
		text = strings.Join(lines[max(0, len(lines)-n):], "\n")
		return nil
	})
	return text, err
}

func (f *fake) SetMeta(_ context.Context, name, key, value string) error {
	return f.with(name, func(s *fakeSession) error { s.meta[key] = value; return nil })
}

func (f *fake) GetMeta(_ context.Context, name, key string) (value string, err error) {
	err = f.with(name, func(s *fakeSession) error { value = s.meta[key]; return nil })
	return value, err
}

func (f *fake) RemoveMeta(_ context.Context, name, key string) error {
	return f.with(name, func(s *fakeSession) error { delete(s.meta, key); return nil })
}

func (f *fake) ListRunning(context.Context, string) ([]string, error) { return nil, nil }

func (f *fake) GetLastActivity(context.Context, string) (time.Time, error) { return time.Time{}, nil }

func (f *fake) ChangeStamp(_ context.Context, name string) (stamp string, err error) {
	err = f.with(name, func(s *fakeSession) error { stamp = s.screen; return nil })
	return stamp, err
}

func (f *fake) Title(context.Context, string) (string, error) { return "", nil }

func (f *fake) Exit(_ context.Context, name string) (e *provider.Exit, err error) {
	err = f.with(name, func(s *fakeSession) error { e = s.exit; return nil })
	return e, err
}

func (f *fake) Attached(context.Context, string) (int, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.typed.IsZero() {
		return 0, time.Time{}, nil
	}
	return 1, f.typed, nil
}

func (f *fake) AwaitReady(ctx context.Context, name string) error {
	for ctx.Err() == nil {
		f.mu.Lock()
		busy := f.busy
		f.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return ctx.Err()
}

var (
	_ provider.Provider   = (*fake)(nil)
	_ provider.OnTerminal = (*fake)(nil)
)
