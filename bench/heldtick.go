package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// heldMind tells the benchmark where the tools of its tick are, and waits until
// it is let go.
const heldMind = `#!/bin/sh
cat >/dev/null
dir=$(dirname "$DATA_DIR")
echo "$DEN_KERNEL_TOOLS" >"$dir/socket.new"
mv "$dir/socket.new" "$dir/socket"
[ ! -p "$dir/hold" ] || cat "$dir/hold"
echo done
`

// newKernelHome is a Home for agents that sleep and wake.
func (b *bench) newKernelHome() (*denHome, error) {
	h, err := b.newHome()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(h.dir)
	h.env = append(h.env, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "SHELL=/bin/bash")
	return h, nil
}

// newMind registers an agent whose mind is a script.
func (h *denHome) newMind(name, script string) (dir string, err error) {
	dir = filepath.Join(filepath.Dir(h.dir), name)
	system := filepath.Join(dir, "repo", "system")
	if err := os.MkdirAll(system, 0o700); err != nil {
		return "", err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(system, "agent_config.json"), []byte(`{"runner": "script", "command": ["system/mind"]}`), 0o600),
		os.WriteFile(filepath.Join(system, "mind"), []byte(script), 0o700),
	)
	if err != nil {
		return "", err
	}
	return dir, h.do("kernel", "init", name, "--path", filepath.Join(dir, "repo"))
}

// heldTick is a tick whose tools are used from here.
type heldTick struct {
	home  *denHome
	cmd   *exec.Cmd
	dir   string
	said  bytes.Buffer
	ended chan error
	hold  *os.File // the mind waits until it is closed
	env   []string // for the command line
	tools *mcpClient
	open  []int // its terminals
}

// holdTick begins a tick and logs in.
func (b *bench) holdTick(h *denHome) (*heldTick, error) {
	dir, err := h.newMind("held", heldMind)
	if err != nil {
		return nil, err
	}
	t := &heldTick{home: h, dir: dir, ended: make(chan error, 1), cmd: exec.Command(h.bin, "kernel", "tick", "held")}
	hold := filepath.Join(dir, "hold")
	if err := syscall.Mkfifo(hold, 0o600); err != nil {
		return nil, err
	}
	if t.hold, err = os.OpenFile(hold, os.O_RDWR, 0); err != nil { // for writing alone it would wait for the reader
		return nil, err
	}
	t.cmd.Env, t.cmd.Stdout, t.cmd.Stderr = h.env, &t.said, &t.said
	if err := t.cmd.Start(); err != nil {
		return nil, errors.Join(err, t.hold.Close())
	}
	go func() { t.ended <- t.cmd.Wait() }() // close receives it
	if err := t.login(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *heldTick) login() error {
	socket, err := t.socket()
	if err != nil {
		return err
	}
	t.env = append(append([]string{}, t.home.env...), "DEN_KERNEL_TOOLS="+socket)
	dend := filepath.Join(filepath.Dir(t.home.bin), "dend")
	if t.tools, err = startMCP(t.env, t.dir, dend, "kernel", "tools"); err != nil {
		return err
	}
	t.open = []int{0}
	_, _, err = t.tools.call("login", map[string]any{})
	return err
}

// socket waits until the mind tells where the tools are.
func (t *heldTick) socket() (string, error) {
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if raw, err := os.ReadFile(filepath.Join(t.dir, "socket")); err == nil {
			return strings.TrimSpace(string(raw)), nil
		}
		select {
		case err := <-t.ended:
			t.ended <- err
			return "", fmt.Errorf("the tick ended before its mind began: %v\n%s", err, &t.said)
		default:
		}
	}
	return "", errors.New("the tick's mind does not begin")
}

// grow opens terminals up to a number.
func (t *heldTick) grow(to int) error {
	for len(t.open) < to {
		if _, _, err := t.tools.call("open", map[string]any{}); err != nil {
			return err
		}
		t.open = append(t.open, len(t.open))
	}
	return nil
}

// enter types a line into the bash of a terminal, which must have been seen.
func (t *heldTick) enter(number int, line string) error {
	_, _, err := t.tools.call("type", map[string]any{"tty": number, "expect": "bash", "text": line})
	return err
}

// hosts are the processes of the terminals, beside that of the tick.
func (t *heldTick) hosts() (pids []int, err error) {
	names, err := t.home.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := t.home.status(name)
		if err != nil {
			return nil, err
		}
		pids = append(pids, s.HostPID)
	}
	return pids, nil
}

// close ends the tick in order: its terminals, then its mind.
func (t *heldTick) close() (err error) {
	if t.tools != nil {
		for _, n := range t.open {
			_, _, cerr := t.tools.call("close", map[string]any{"tty": n})
			err = errors.Join(err, cerr)
		}
		err = errors.Join(err, t.tools.close())
	}
	err = errors.Join(err, os.Remove(t.hold.Name()), t.hold.Close())
	select {
	case ended := <-t.ended:
		if ended != nil {
			err = errors.Join(err, fmt.Errorf("the tick ended as %w\n%s", ended, &t.said))
		}
		return err
	case <-time.After(time.Minute):
	}
	t.cmd.Process.Kill() // Best effort: it may have ended now.
	<-t.ended
	return errors.Join(err, fmt.Errorf("the tick did not end\n%s", &t.said))
}
