package tmux

import (
	"context"
	"errors"
	"fmt"
)

// Leave ends the server where nothing but its own keeper is left on it.
func (p *Provider) Leave(ctx context.Context) error {
	lock, err := p.lock(ctx, "up")
	if err != nil {
		return fmt.Errorf("leave the tmux server: %w", err)
	}
	defer lock.Close() // Best effort: nothing was written.
	names, err := p.ask(ctx, command("list-sessions", "-F", "#{session_name}"))
	if errors.Is(err, errNoServer) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("leave the tmux server: %w", err)
	}
	for _, name := range names {
		if name != keeper {
			return nil // somebody's: it goes on
		}
	}
	c, err := p.connection(ctx, false)
	if errors.Is(err, errNoServer) {
		return nil
	}
	if err == nil {
		_, err = p.askOnce(ctx, c, command("kill-server"), readSequence)
	}
	if err != nil && !errors.Is(err, errLost) { // it goes without an answer
		return fmt.Errorf("leave the tmux server: %w", err)
	}
	return nil
}
