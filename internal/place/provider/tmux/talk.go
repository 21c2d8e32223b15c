package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/place/provider"
	"den/internal/place/provider/tmux/idle"
	"den/internal/process/pty"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

// maxNudge bounds a nudge.
const maxNudge = 8 << 20

// A program gets time to read one input before the next is sent: given text and
// Enter at once, it may take Enter for a part of the text. The wait ends when
// the terminal's input queue was found empty emptyChecks times in a row, or
// after readLimit. After a lone Escape it lasts escapeGap, so that Escape
// and a letter are not taken for Alt.
const (
	readLimit   = 100 * time.Millisecond
	emptyChecks = 3
	readPause   = time.Millisecond
	escapeGap   = 60 * time.Millisecond
)

// Nudge pastes text and presses Enter under the session's lock, which holds
// across processes. Line ends are pasted as terminals paste them.
func (p *Provider) Nudge(ctx context.Context, name, text string) error {
	return p.paste(ctx, name, text, func(one *pane, err error) error {
		if err == nil {
			err = p.write(ctx, name, one, "\r", false)
		}
		if err != nil {
			return halfNudged(name, text, err)
		}
		return nil
	})
}

// Type pastes text and presses no key.
func (p *Provider) Type(ctx context.Context, name, text string) error {
	return p.paste(ctx, name, text, func(_ *pane, err error) error { return err })
}

// paste types text, waits until it was read, and then does what comes next.
func (p *Provider) paste(ctx context.Context, name, text string, next func(one *pane, unread error) error) error {
	if err := provider.CheckText(text, maxNudge); err != nil {
		return err
	}
	one, lock, err := p.hold(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: nothing was written.
	if err := p.write(ctx, name, one, string(keys.Text(text)), true); err != nil {
		return err
	}
	return next(one, awaitInputRead(ctx, one, text))
}

// halfNudged is the error of a nudge whose text was typed. A text without line
// ends that has gone with its session nobody has read; of any other the program
// may have read lines.
func halfNudged(name, text string, err error) error {
	what := "the text was typed, Enter was not"
	if errors.Is(err, provider.ErrUnanswered) {
		what = "the text was typed, Enter perhaps"
	} else if strings.ContainsAny(text, "\r\n") {
		err = fmt.Errorf("%w: %w", err, provider.ErrUnanswered)
	}
	return fault.Hintf(fmt.Errorf("nudge session '%s': %s: %w", name, what, err), "press it with SendKeys, or look at the session first")
}

// SendKeys presses chords, each as the bytes that the terminal's modes give it.
func (p *Provider) SendKeys(ctx context.Context, name string, chords ...string) error {
	parsed, err := parseChords(name, chords)
	if err != nil {
		return err
	}
	one, lock, err := p.hold(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: nothing was written.
	bytes, err := encodeChords(name, parsed, one)
	if err != nil {
		return err
	}
	for i, b := range bytes {
		if i > 0 {
			if err := awaitInputRead(ctx, one, bytes[i-1]); err != nil {
				return fmt.Errorf("press keys in session '%s': %d of %d were sent: %w", name, i, len(bytes), err)
			}
		}
		if err := p.write(ctx, name, one, b, false); err != nil {
			return err
		}
	}
	return nil
}

func parseChords(name string, chords []string) ([]keys.Chord, error) {
	if len(chords) == 0 {
		return nil, fault.Errorf(fault.Usage, "press keys in session '%s': no chord is given", name)
	}
	parsed := make([]keys.Chord, 0, len(chords))
	for _, s := range chords {
		c, err := keys.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("press keys in session '%s': %w", name, err)
		}
		parsed = append(parsed, c)
	}
	return parsed, nil
}

// encodeChords returns one write for each press. All are encoded before the
// first is sent.
func encodeChords(name string, chords []keys.Chord, one *pane) ([]string, error) {
	m, known := modes(one)
	var out []string
	for _, c := range chords {
		b, err := c.Once().Encode(m)
		if err != nil {
			return nil, fmt.Errorf("press keys in session '%s': %w", name, err)
		}
		if !known {
			m := m
			m.ModifyOtherKeys = 1
			if other, err := c.Once().Encode(m); err != nil || string(other) != string(b) {
				return nil, fault.Hintf(fault.Errorf(fault.Unsupported, "press keys in session '%s': %s differs from a plainer key only for programs that asked for extended keys, and this tmux does not tell which did", name, c),
					"tmux 3.5 and newer tell; or press a chord that every terminal has, such as M-Enter")
			}
		}
		for range c.Times() {
			out = append(out, string(b))
		}
	}
	return out, nil
}

// modes are the terminal's as far as tmux tells them. It reports whether that
// includes the extended keys.
func modes(one *pane) (m vt.Modes, extendedKnown bool) {
	on := func(i int) bool { return i < len(one.modes) && one.modes[i] == '1' }
	m = vt.Modes{AppCursor: on(0), AppKeypad: on(1), AltScreen: on(2)}
	switch {
	case on(5):
		m.Mouse = vt.MouseAny
	case on(4):
		m.Mouse = vt.MouseButton
	case on(3):
		m.Mouse = vt.MouseNormal
	}
	switch {
	case on(7):
		m.MouseEncoding = vt.MouseSGR
	case on(6):
		m.MouseEncoding = vt.MouseUTF8
	}
	switch one.keyMode {
	case "Ext 1":
		m.ModifyOtherKeys = 1
	case "Ext 2":
		m.ModifyOtherKeys = 2
	}
	return m, one.keyMode != ""
}

// Interrupt types Ctrl-C. What that means is the terminal's to say. It comes
// before or after a nudge: between a text and its Enter it would drop the text.
func (p *Provider) Interrupt(ctx context.Context, name string) error {
	one, lock, err := p.hold(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: nothing was written.
	return p.write(ctx, name, one, "\x03", false)
}

// hold takes the lock under which a session is typed to, and looks at it then.
func (p *Provider) hold(ctx context.Context, name string) (*pane, *os.File, error) {
	if _, err := p.running(ctx, name); err != nil {
		return nil, nil, err
	}
	lock, err := p.lock(ctx, "type "+p.tmuxName(name))
	if err != nil {
		return nil, nil, fmt.Errorf("type to session '%s': %w", name, err)
	}
	one, err := p.running(ctx, name)
	if err != nil {
		lock.Close() // Best effort: nothing was written.
		return nil, nil, err
	}
	return one, lock, nil
}

// write sends bytes to the pane by way of a buffer: as they are, whatever mode
// a person's copy mode is in, and between marks where paste is set and the
// program asked for them. It is not tried twice.
func (p *Provider) write(ctx context.Context, name string, one *pane, data string, paste bool) error {
	client, err := p.connectionTo(ctx, one.server)
	if err != nil {
		return p.unwritten(ctx, name, err)
	}
	buffer := "den-" + random()
	flags := "-dr"
	if paste {
		flags = "-dpr"
	}
	_, err = p.askOnce(ctx, client, sequence(command("set-buffer", "-b", buffer, "--", data), command("paste-buffer", flags, "-b", buffer, "-t", one.id)), readSequence)
	if err == nil {
		return nil
	}
	// Best effort: the buffer of a paste that was refused; one that was not is gone.
	_, _ = p.ask(ctx, command("delete-buffer", "-b", buffer))
	return p.unwritten(ctx, name, err)
}

// unwritten says why nothing was typed: a session that ended meanwhile is told
// apart from a server that could not be asked. Where the server was asked and
// may have typed, the error wraps provider.ErrUnanswered.
func (p *Provider) unwritten(ctx context.Context, name string, err error) error {
	if errors.Is(err, errUnanswered) {
		return fmt.Errorf("%w: %w", p.unwritten(ctx, name, errLost), provider.ErrUnanswered)
	}
	if refused(err) || errors.Is(err, errLost) || errors.Is(err, errNoServer) {
		if _, gone := p.running(ctx, name); gone != nil {
			return gone
		}
	}
	return fmt.Errorf("type to session '%s': %w", name, unasked(err))
}

// awaitInputRead waits until the program has read its input.
func awaitInputRead(ctx context.Context, one *pane, last string) error {
	limit := time.Now().Add(readLimit)
	if last == "\x1b" {
		return poll.Pause(ctx, escapeGap)
	}
	tty, err := os.OpenFile(one.tty, os.O_RDONLY|openNoControl, 0)
	if err != nil {
		return poll.Pause(ctx, readPause) // the queue cannot be read: give the program a moment
	}
	defer tty.Close() // Best effort: nothing was written.
	for empty := 0; empty < emptyChecks && time.Now().Before(limit); {
		if n, err := queued(tty); err != nil || n == 0 {
			empty++
		} else {
			empty = 0
		}
		if err := poll.Pause(ctx, readPause); err != nil {
			return err
		}
	}
	return nil
}

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
		if lines = provider.LastLines(lines, 0); len(lines) > n {
			return strings.Join(provider.LastLines(lines, n), "\n"), nil
		}
	}
	lines, err := p.capture(ctx, name, one, "-")
	if err != nil {
		return "", err
	}
	return strings.Join(provider.LastLines(lines, n), "\n"), nil
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

// The pauses between two looks at a program that does not wait for input:
// short at first, then longer, because looking costs.
const (
	firstReadyPause = 2 * time.Millisecond
	lastReadyPause  = 100 * time.Millisecond
)

// AwaitReady asks the kernel about the program in the pane. Where that is not
// allowed it is fault.Unsupported.
func (p *Provider) AwaitReady(ctx context.Context, name string) error {
	for wait := firstReadyPause; ; wait = min(2*wait, lastReadyPause) {
		one, err := p.running(ctx, name)
		if err != nil {
			return err
		}
		ready, err := idle.Waits(one.server, one.tty, one.pid)
		if err != nil {
			if _, gone := p.running(ctx, name); gone != nil {
				return gone
			}
			return fmt.Errorf("session '%s': %w", name, err)
		}
		if ready {
			return nil
		}
		if err := poll.Pause(ctx, wait); err != nil {
			return err
		}
	}
}
