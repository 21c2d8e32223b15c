package tmux

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"den/internal/base/fault"
	"den/internal/place/provider"
	"den/internal/process/pty"
)

// Input asks the kernel about the pane's terminal, and tmux about its cursor.
// What was typed into an unfinished line is not known: tmux does not follow
// input.
func (p *Provider) Input(ctx context.Context, name string) (provider.Input, error) {
	one, err := p.running(ctx, name)
	if err != nil {
		return provider.Input{}, err
	}
	in, err := one.input()
	if err != nil {
		return provider.Input{}, fmt.Errorf("input of session '%s': %w", name, err)
	}
	in.CursorRow, in.CursorRest, err = p.aroundCursor(ctx, name, one)
	return in, err
}

// input asks the kernel about the pane's terminal.
func (one *pane) input() (in provider.Input, err error) {
	tty, err := os.OpenFile(one.tty, os.O_RDONLY|openNoControl, 0)
	if err != nil {
		return in, fault.Errorf(fault.Unsupported, "%w", err)
	}
	defer tty.Close() // Best effort: nothing was written.
	if in.Unread, err = queued(tty); err != nil {
		return in, fault.Errorf(fault.Unsupported, "%w", err)
	}
	if in.Echo, in.LineMode, err = lineModes(tty); err != nil {
		return in, fault.Errorf(fault.Unsupported, "%w", err)
	}
	if !pty.RunsOn(one.pid, tty) {
		// tmux may have closed the terminal since, and this be the next one of its
		// name: nobody knows what the command had read.
		return in, fault.Errorf(fault.NotRunning, "the command has ended")
	}
	return in, nil
}

// aroundCursor returns the text left of the cursor, from the row on where its
// line was begun, and the rest of its row.
func (p *Provider) aroundCursor(ctx context.Context, name string, one *pane) (left, rest string, err error) {
	lines, err := p.askOf(ctx, one, command("display-message", "-p", "-t", one.id, "#{cursor_x},#{cursor_y}"))
	if err != nil {
		return "", "", p.unwritten(ctx, name, err)
	}
	column, row, _ := strings.Cut(strings.Join(lines, ""), ",")
	col, err := strconv.Atoi(column)
	if err != nil {
		return "", "", fmt.Errorf("cursor of session '%s': tmux answers %q", name, lines)
	}
	lines, err = p.askOf(ctx, one, command("capture-pane", "-p", "-N", "-t", one.id, "-S", row, "-E", row))
	if err != nil {
		return "", "", p.unwritten(ctx, name, err)
	}
	whole, err := p.askOf(ctx, one, command("capture-pane", "-p", "-J", "-t", one.id, "-S", "0", "-E", row))
	if err != nil {
		return "", "", p.unwritten(ctx, name, err)
	}
	text := strings.Join(lines, "")
	before := ""
	if n := len(whole); n > 0 {
		if b, ok := strings.CutSuffix(strings.TrimRight(whole[n-1], " "), strings.TrimRight(text, " ")); ok {
			before = b
		}
	}
	runes := []rune(text)
	for len(runes) < col { // cells that nothing was written to: the cursor was moved there
		runes = append(runes, ' ')
	}
	return before + string(runes[:col]), strings.TrimRight(string(runes[col:]), " "), nil
}
