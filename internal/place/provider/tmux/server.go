package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
)

// errNoServer means that no tmux server listens on the socket: there are no
// sessions. It is an answer, not a failure to ask.
var errNoServer = errors.New("no tmux server runs")

// againPause is between two tries to reach a server that comes or goes.
const againPause = 5 * time.Millisecond

// tmux is a call of the program that reads no configuration.
func (p *Provider) tmux(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, append([]string{"-u", "-f", os.DevNull, "-S", p.socket}, args...)...)
	cmd.Env = serverEnv(os.Environ())
	cmd.Dir = "/"
	cmd.Stderr = &bytes.Buffer{}
	cmd.WaitDelay = leaveLimit // a server that hangs holds it open: see client.close
	return cmd
}

// checkServer asks the socket itself whether a server is there.
func (p *Provider) checkServer(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.socket)
	switch {
	case err == nil:
		conn.Close() // Best effort: nothing was sent.
		return nil
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		return errNoServer
	}
	return err
}

// connection returns the client, after connecting where there is none. With up
// set it brings the server up; without, it returns errNoServer.
func (p *Provider) connection(ctx context.Context, up bool) (*client, error) {
	if err := p.lockGate(ctx); err != nil {
		return nil, err
	}
	defer p.unlockGate()
	if p.closed {
		return nil, fault.Errorf(fault.Unreachable, "this provider was closed")
	}
	if p.client != nil && p.client.alive() {
		return p.client, nil
	}
	if p.client != nil {
		p.client.close() // it has ended: this closes our side of the pipe
		p.client = nil
	}
	c, err := p.reach(ctx, up, nil)
	if err == nil {
		p.client = c
	}
	return c, err
}

const anyServer = 0

// connectionTo is connection to one server, by its process. The ids of sessions
// and panes are that server's: the next one has the same for others, so if that
// is reached, the result is errNoServer.
func (p *Provider) connectionTo(ctx context.Context, server int) (*client, error) {
	c, err := p.connection(ctx, false)
	if err == nil && server != anyServer && c.server != server {
		return nil, errNoServer
	}
	return c, err
}

// reach connects. A server may come and go meanwhile, and its keeper may have
// been killed: it tries again until its time is up.
func (p *Provider) reach(ctx context.Context, up bool, notify func(string)) (*client, error) {
	for begun := time.Now(); ; {
		c, err := p.tryReach(ctx, notify)
		if err == nil || errors.Is(err, errNoServer) && !up {
			return c, err
		}
		if errors.Is(err, errNoServer) {
			begun = time.Now() // ending what is left of the last one takes its own time
			err = p.bringUp(ctx)
		}
		if err == nil {
			continue
		}
		if time.Since(begun) > p.patience || ctx.Err() != nil {
			return nil, unasked(err)
		}
		if poll.Pause(ctx, againPause) != nil {
			return nil, unasked(ctx.Err())
		}
	}
}

// tryReach connects to a server that is there, and prepares one that has no
// keeper for the next try.
func (p *Provider) tryReach(ctx context.Context, notify func(string)) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if err := p.checkServer(ctx); err != nil {
		return nil, err
	}
	c, err := p.connect(ctx, notify)
	if err == nil {
		return c, nil
	}
	return nil, errors.Join(err, p.prepare(ctx, false))
}

// unasked says that the server could not be asked, which is no answer.
func unasked(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.Hintf(fault.Errorf(fault.Unreachable, "ask the tmux server: %w", err), "what its sessions do is not known; try again")
}

// bringUp starts the server, one process at a time: servers that are started
// at once end each other.
func (p *Provider) bringUp(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(p.socket), 0o700); err != nil {
		return fmt.Errorf("make the directory of the tmux socket: %w", err)
	}
	lock, err := p.lock(ctx, "up")
	if err != nil {
		return err
	}
	defer lock.Close() // Best effort: nothing was written.
	if err := p.checkServer(ctx); !errors.Is(err, errNoServer) {
		return err // somebody else was faster, or it cannot be asked
	}
	// What outlived the last server's end has no session any more. It has
	// been hung up on already.
	if err := p.end(ctx, p.orphans, terminate); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	return p.prepare(ctx, true)
}

// prepare makes the server what sessions need: it starts it where start is
// set. On one that is prepared already it changes nothing. exit-empty comes
// before the first session, and the keeper last: where it stands, all is done.
func (p *Provider) prepare(ctx context.Context, start bool) error {
	var args []string
	if start {
		// The server's own environment bears the mark, its sessions' does not.
		args = []string{"start-server", ";", "set-environment", "-gu", serverKey, ";"}
	} else {
		args = []string{"-N"}
	}
	for i, o := range serverOptions() {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, o...)
	}
	args = append(args, ";", "new-session", "-d", "-s", keeper, "-x", "80", "-y", "24", "--", "true", ";",
		"set-option", "-w", "-t", "="+keeper+":", "remain-on-exit", "on")
	cmd := p.tmux(args...)
	if start {
		cmd.Env = append(cmd.Env, serverKey+"="+p.realm)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1) // room for the one result
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		said := strings.TrimSpace(cmd.Stderr.(*bytes.Buffer).String())
		if err != nil && !strings.HasPrefix(said, "duplicate session") {
			return fmt.Errorf("prepare the tmux server: %w: %s", err, said)
		}
		return nil
	case <-ctx.Done():
		cmd.Process.Kill() // Best effort: it may have ended just now.
		<-done
		return ctx.Err()
	}
}

// serverOptions hold for all sessions of the server.
func serverOptions() [][]string {
	return [][]string{
		{"set-option", "-s", "exit-empty", "off"},
		{"set-option", "-s", "default-terminal", defaultTerminal()},
		{"set-option", "-s", "escape-time", "0"},    // a person's Escape comes at once
		{"set-option", "-s", "extended-keys", "on"}, // programs may ask for them
		{"set-option", "-g", "default-shell", "/bin/sh"},
		{"set-option", "-g", "history-limit", "50000"},
		{"set-option", "-g", "status", "off"},          // the terminal has the size that was asked for
		{"set-option", "-g", "assume-paste-time", "0"}, // a person's keys are keys, however fast they come
		{"set-option", "-g", "update-environment", ""},
		{"set-option", "-g", "destroy-unattached", "off"},
		{"set-option", "-wg", "automatic-rename", "off"},
		{"set-option", "-wg", "allow-rename", "off"},
		{"set-option", "-wg", "remain-on-exit-format", ""}, // no footer on the last screen
	}
}

// ask puts one line to the server, once more where the client was lost: for
// what may be done twice.
func (p *Provider) ask(ctx context.Context, line string) ([]string, error) {
	return p.retry(ctx, anyServer, line, readSequence)
}

// askOf is ask for a line that has tmux's ids of a pane or of its session.
func (p *Provider) askOf(ctx context.Context, one *pane, line string) ([]string, error) {
	return p.retry(ctx, one.server, line, readSequence)
}

type reading func(raw []string) (out, notes []string, err error)

func (p *Provider) retry(ctx context.Context, server int, line string, read reading) ([]string, error) {
	for try := 0; ; try++ {
		c, err := p.connectionTo(ctx, server)
		if err != nil {
			return nil, err
		}
		out, err := p.askOnce(ctx, c, line, read)
		if !errors.Is(err, errLost) {
			return out, err
		}
		if try == 2 {
			return nil, unasked(err)
		}
	}
}

func (p *Provider) askOnce(ctx context.Context, c *client, line string, read reading) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	raw, err := c.ask(ctx, line)
	if errors.Is(err, errLost) {
		return nil, err
	}
	if err != nil {
		return nil, unasked(err)
	}
	out, notes, err := read(raw)
	if c.notify != nil {
		for _, n := range notes {
			c.notify(n)
		}
	}
	if errors.Is(err, errGarbled) {
		return nil, unasked(err)
	}
	return out, err
}

func random() string { return strings.ToLower(rand.Text()) }

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
