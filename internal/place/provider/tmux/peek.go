package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"den/internal/base/fault"
)

// Peek captures the pane. Lines that the terminal wrapped are one line again.
func (p *Provider) Peek(ctx context.Context, name string, n int) (string, error) {
	if n < 0 {
		return "", fault.Errorf(fault.Usage, "peek at session '%s': %d lines cannot be asked for", name, n)
	}
	one, err := p.existing(ctx, name)
	if err != nil {
		return "", err
	}
	if one.id == "" {
		return "", fault.Errorf(fault.NotFound, "peek at session '%s': somebody closed its pane", name)
	}
	if n > 0 {
		// So many lines above the screen, and the screen. The first of them
		// may be the end of a wrapped line, so one more than n is enough.
		lines, err := p.capture(ctx, name, one, strconv.Itoa(-n-1))
		if err != nil {
			return "", err
		}
		if lines = lastLines(lines, 0); len(lines) > n {
			return strings.Join(lastLines(lines, n), "\n"), nil
		}
	}
	lines, err := p.capture(ctx, name, one, "-")
	if err != nil {
		return "", err
	}
	return strings.Join(lastLines(lines, n), "\n"), nil
}

// capture returns the pane's text from a line of its history on.
func (p *Provider) capture(ctx context.Context, name string, one *pane, from string) ([]string, error) {
	lines, err := p.retry(ctx, one.server, command("capture-pane", "-p", "-J", "-t", one.id, "-S", from), readSingle)
	if errors.Is(err, errNoServer) || refused(err) {
		return nil, fault.Errorf(fault.NotFound, "peek at session '%s': it went meanwhile", name)
	}
	if err != nil {
		return nil, fmt.Errorf("peek at session '%s': %w", name, err)
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ") // cells that nothing was written to
	}
	return lines, nil
}

// lastLines returns at most n of the last lines; blank ones at the end do not
// count. 0 means all.
func lastLines(lines []string, n int) []string {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}

// ClearScrollback forgets what has scrolled away.
func (p *Provider) ClearScrollback(ctx context.Context, name string) error {
	one, err := p.existing(ctx, name)
	if err != nil {
		return err
	}
	_, err = p.askOf(ctx, one, command("clear-history", "-t", one.id))
	if errors.Is(err, errNoServer) || refused(err) {
		return fault.Errorf(fault.NotFound, "clear scrollback of session '%s': it went meanwhile", name)
	}
	return err
}
