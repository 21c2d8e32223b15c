package tmux

import (
	"context"
	"errors"
	"fmt"

	"den/internal/base/fault"
	"den/internal/place/provider"
)

// Metadata is kept in options of the session: it does not reach its programs,
// and goes with it.

func metaOption(key string) string { return "@den-meta-" + encode(key) }

// SetMeta keeps a value.
func (p *Provider) SetMeta(ctx context.Context, name, key, value string) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	_, err := p.option(ctx, name, "set-option", metaOption(key), encoded(value))
	return err
}

// GetMeta returns a value.
func (p *Provider) GetMeta(ctx context.Context, name, key string) (string, error) {
	if err := provider.CheckKey(key); err != nil {
		return "", err
	}
	lines, err := p.option(ctx, name, "show-options", "-qv", metaOption(key))
	if err != nil || len(lines) == 0 || lines[0] == "" {
		return "", err
	}
	value, err := decoded(lines[0])
	if err != nil {
		return "", fmt.Errorf("metadata %s of session '%s': %w", key, name, err)
	}
	return value, nil
}

// RemoveMeta forgets a value.
func (p *Provider) RemoveMeta(ctx context.Context, name, key string) error {
	if err := provider.CheckKey(key); err != nil {
		return err
	}
	_, err := p.option(ctx, name, "set-option", "-qu", metaOption(key))
	return err
}

// option runs a command on the options of the session that stands under the
// name now.
func (p *Provider) option(ctx context.Context, name, verb string, args ...string) ([]string, error) {
	one, err := p.existing(ctx, name)
	if err != nil {
		return nil, err
	}
	lines, err := p.askOf(ctx, one, command(append([]string{verb, "-t", one.session + ":"}, args...)...))
	if errors.Is(err, errNoServer) || refused(err) {
		return nil, fault.Errorf(fault.NotFound, "metadata of session '%s': it went meanwhile (%w)", name, err)
	}
	return lines, err
}
