package kubernetes

import (
	"context"
	"os"
	"time"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// reach sees to it that a session of the cluster can be reached in the Home. One
// that can be, or is over there, is known without asking the cluster.
func (p *Provider) reach(ctx context.Context, name string) error {
	if err := provider.CheckName(name); err != nil {
		return err
	}
	if err := p.watched(ctx); err != nil {
		return err
	}
	if m := p.local(name); m != nil && m.Status.Active() {
		return nil
	}
	pod, s, err := p.found(ctx, name)
	if err != nil {
		if m := p.local(name); m != nil && m.Status.Final() {
			return nil // its pod is gone, its past is here
		}
		return err
	}
	switch s.stage {
	case unknown:
		return unknownError(name, s)
	case running:
		return p.bridged(ctx, pod)
	}
	return nil
}

// inHome does something with the session as it appears in the Home.
func (p *Provider) inHome(ctx context.Context, name string, do func() error) error {
	if err := p.reach(ctx, name); err != nil {
		return err
	}
	return do()
}

// toldInHome is inHome for what has an answer.
func toldInHome[T any](ctx context.Context, p *Provider, name string, ask func() (T, error)) (answer T, err error) {
	err = p.inHome(ctx, name, func() error {
		answer, err = ask()
		return err
	})
	return answer, err
}

// Attach joins a person's terminal to the session as it appears in the Home.
func (p *Provider) Attach(ctx context.Context, name string, in, out *os.File) error {
	return p.inHome(ctx, name, func() error { return p.here.Attach(ctx, name, in, out) })
}

// Nudge and the others below reach the session through the Home.
func (p *Provider) Nudge(ctx context.Context, name, text string) error {
	return p.inHome(ctx, name, func() error { return p.here.Nudge(ctx, name, text) })
}

// Type is Nudge without its Enter.
func (p *Provider) Type(ctx context.Context, name, text string) error {
	return p.inHome(ctx, name, func() error { return p.here.Type(ctx, name, text) })
}

// SendKeys presses chords.
func (p *Provider) SendKeys(ctx context.Context, name string, chords ...string) error {
	return p.inHome(ctx, name, func() error { return p.here.SendKeys(ctx, name, chords...) })
}

// Peek reads the session's text: from its host, or from the copy of its log.
func (p *Provider) Peek(ctx context.Context, name string, n int) (string, error) {
	return toldInHome(ctx, p, name, func() (string, error) { return p.here.Peek(ctx, name, n) })
}

// Input tells what became of input.
func (p *Provider) Input(ctx context.Context, name string) (provider.Input, error) {
	return toldInHome(ctx, p, name, func() (provider.Input, error) { return p.here.Input(ctx, name) })
}

// AwaitReady returns when the program waits for its user.
func (p *Provider) AwaitReady(ctx context.Context, name string) error {
	return p.inHome(ctx, name, func() error { return p.here.AwaitReady(ctx, name) })
}

// GetLastActivity tells when the session last wrote something.
func (p *Provider) GetLastActivity(ctx context.Context, name string) (time.Time, error) {
	return toldInHome(ctx, p, name, func() (time.Time, error) { return p.here.GetLastActivity(ctx, name) })
}

// Title is the window title that the program set last.
func (p *Provider) Title(ctx context.Context, name string) (string, error) {
	return toldInHome(ctx, p, name, func() (string, error) { return p.here.Title(ctx, name) })
}

// Attached tells who looks on.
func (p *Provider) Attached(ctx context.Context, name string) (n int, typed time.Time, err error) {
	if err := p.reach(ctx, name); err != nil {
		return 0, time.Time{}, err
	}
	return p.here.Attached(ctx, name)
}

// ChangeStamp goes by the copy of the log.
func (p *Provider) ChangeStamp(ctx context.Context, name string) (string, error) {
	if err := p.reach(ctx, name); err != nil {
		return "", err
	}
	stamp, err := p.here.ChangeStamp(ctx, name)
	if m := p.local(name); fault.KindOf(err) == fault.NotFound && m != nil {
		return m.ID, nil // nothing of its log was copied yet
	}
	return stamp, err
}

// DenSession is the session's name for den's own verbs.
func (p *Provider) DenSession(name string) string { return p.here.DenSession(name) }
