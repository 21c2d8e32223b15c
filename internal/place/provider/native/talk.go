package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/rpc"
	"den/internal/place/provider"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// maxNudge leaves room for how a request is written.
const maxNudge = rpc.MaxRequest / 2

// Nudge pastes text and presses Enter: one input to the host, so nothing that
// others send falls in between, and the host gives the program the time to
// read the text before Enter comes.
func (p *Provider) Nudge(ctx context.Context, name, text string) error {
	return p.paste(ctx, "nudge", name, text, true)
}

// unanswered marks an error after which the session may have got the input.
func unanswered(err error) error {
	if rpc.IsBroken(err) {
		return fmt.Errorf("%w: %w", err, provider.ErrUnanswered)
	}
	return err
}

// Type pastes text and presses no key.
func (p *Provider) Type(ctx context.Context, name, text string) error {
	return p.paste(ctx, "type to", name, text, false)
}

func (p *Provider) paste(ctx context.Context, what, name, text string, enter bool) error {
	if err := provider.CheckText(text, maxNudge); err != nil {
		return err
	}
	d, _, err := p.find(name)
	if err != nil {
		return err
	}
	if _, err := p.session(d).Input(ctx, wire.Input{Paste: &text, Enter: enter}); err != nil {
		return fmt.Errorf("%s session '%s': %w", what, name, unanswered(err))
	}
	return nil
}

// SendAt sends keystrokes in one input, if the host finds that the program has
// written nothing since the moment, and the line empty where it must be.
func (p *Provider) SendAt(ctx context.Context, name string, at provider.Moment, k provider.Keystrokes) error {
	in := wire.InputIf{EmptyLine: k.EmptyLine}
	if k.Text != "" || len(k.Keys) == 0 {
		if err := provider.CheckText(k.Text, maxNudge); err != nil {
			return err
		}
		in.Inputs = append(in.Inputs, wire.Input{Paste: &k.Text})
	}
	if len(k.Keys) > 0 {
		in.Inputs = append(in.Inputs, wire.Input{Keys: k.Keys})
	}
	if seq := uint64(at); at != 0 {
		in.After = &seq
	}
	d, _, err := p.find(name)
	if err != nil {
		return err
	}
	r, err := p.session(d).InputIf(ctx, in)
	switch {
	case fault.KindOf(err) == fault.Protocol:
		return fault.Errorf(fault.Unsupported, "type to session '%s': %w", name, err)
	case err != nil:
		return fmt.Errorf("type to session '%s': %w", name, unanswered(err))
	case r.Refused == wire.RefusedLine:
		return provider.ErrLineHolds
	case r.Refused != "":
		return provider.ErrChanged
	}
	return nil
}

// Input asks the host what became of input. A host that is too old to tell is
// fault.Unsupported.
func (p *Provider) Input(ctx context.Context, name string) (provider.Input, error) {
	d, _, err := p.find(name)
	if err != nil {
		return provider.Input{}, err
	}
	s, err := p.session(d).InputState(ctx)
	if fault.KindOf(err) == fault.Protocol {
		err = fault.Errorf(fault.Unsupported, "input of session '%s': %w", name, err)
	}
	return provider.Input{
		Unread: s.Unread, LineMode: s.LineMode, Echo: s.Echo, CursorRow: s.CursorRow,
		Unfinished: s.Unfinished, UnfinishedKnown: err == nil, Unsure: s.Unsure,
	}, err
}

// SendKeys presses chords: all of them, or none where one is unknown.
func (p *Provider) SendKeys(ctx context.Context, name string, chords ...string) error {
	if len(chords) == 0 {
		return fault.Errorf(fault.Usage, "press keys in session '%s': no chord is given", name)
	}
	d, _, err := p.find(name)
	if err != nil {
		return err
	}
	_, err = p.session(d).Input(ctx, wire.Input{Keys: chords})
	return unanswered(err)
}

// AwaitReady returns when the program waits for input and for nothing else.
func (p *Provider) AwaitReady(ctx context.Context, name string) error {
	d, _, err := p.find(name)
	if err != nil {
		return err
	}
	r, err := p.session(d).Wait(ctx, wire.Wait{Ready: true})
	if err == nil && !r.Matched {
		err = fault.Errorf(fault.NotRunning, "session '%s' ended before it was ready", name)
	}
	return err
}

// Peek reads the text of a session: from the host while it lives, else from
// the log.
func (p *Provider) Peek(ctx context.Context, name string, n int) (string, error) {
	text, _, err := p.Look(ctx, name, n)
	return text, err
}

// Look is Peek with the moment of the screen.
func (p *Provider) Look(ctx context.Context, name string, n int) (string, provider.Moment, error) {
	if n < 0 {
		return "", 0, fault.Errorf(fault.Usage, "peek at session '%s': %d lines cannot be asked for", name, n)
	}
	d, _, err := p.find(name)
	if err != nil {
		return "", 0, err
	}
	shot, err := p.shot(ctx, d, n)
	if err == nil && len(shot.Screen.Scrollback) < shot.Screen.ScrollbackTotal && (n == 0 || len(textLines(shot, n)) < n) {
		// What scrolled away last was blank; the text is further up.
		shot, err = p.shot(ctx, d, 0)
	}
	if err != nil {
		return "", 0, fmt.Errorf("peek at session '%s': %w", name, err)
	}
	return strings.Join(textLines(shot, n), "\n"), provider.Moment(shot.Seq), nil
}

func textLines(shot *wire.Snapshot, n int) []string {
	return provider.LastLines(strings.Split(shot.Screen.PlainText(), "\n"), n)
}

// shot returns the screen and so many lines above it, all of them for 0.
func (p *Provider) shot(ctx context.Context, d home.Dir, above int) (*wire.Snapshot, error) {
	if above == 0 {
		above = session.All
	}
	return p.session(d).Snapshot(ctx, session.Now(), above)
}

// leaveLimit is how long the attached den may take to give the terminal back
// when the caller's context ends.
const leaveLimit = 5 * time.Second

// Attach runs 'den attach' on the person's terminal, so that a person is
// joined to an agent's session as to any other.
func (p *Provider) Attach(ctx context.Context, name string, in, out *os.File) error {
	_, m, err := p.find(name)
	if err != nil {
		return err
	}
	if m.Status.Final() {
		return fault.Errorf(fault.NotRunning, "session '%s' is %s", name, m.Ending())
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, p.Binary, "--home", p.Home.Path, "attach", m.Name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it restores the terminal
	cmd.WaitDelay = leaveLimit
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return attachError(name, cmd.ProcessState, err, said.String())
	}
	// How the person left. Best effort: it is for them, and they are gone.
	_, _ = fmt.Fprint(out, said.String())
	return nil
}

// attachError gives the error of 'den attach' back its kind, by its exit code.
func attachError(name string, state *os.ProcessState, err error, said string) error {
	kind := fault.Internal
	if state != nil {
		for _, k := range []fault.Kind{fault.Usage, fault.NotFound, fault.NotRunning, fault.Busy, fault.Unreachable, fault.Storage, fault.Protocol, fault.Denied} {
			if fault.ExitCode(fault.Errorf(k, "")) == state.ExitCode() {
				kind = k
			}
		}
	}
	if said = strings.TrimSpace(said); said == "" {
		said = err.Error()
	}
	return fault.Errorf(kind, "attach to session '%s': %s", name, said)
}
