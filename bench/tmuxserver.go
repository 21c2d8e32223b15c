package main

import (
	"os"
	"strconv"
	"strings"
)

// tmuxServer is a tmux of our own: its own socket, no configuration.
type tmuxServer struct {
	bin string
	env []string
	pid int
}

// newTmux starts a server with one idle session, or returns nil where tmux is
// missing. Its programs get the extra variables. The socket lives in a directory
// of its own, so nothing is left.
func (b *bench) newTmux(extra ...string) (*tmuxServer, error) {
	if b.tmux == "" {
		return nil, nil
	}
	dir, err := os.MkdirTemp(b.tmp, "t")
	if err != nil {
		return nil, err
	}
	t := &tmuxServer{bin: b.tmux, env: cleanEnv(append([]string{"TMUX_TMPDIR=" + dir, "HOME=" + b.tmp}, extra...)...)}
	// exec'ed without a shell, because there are two words.
	if err := t.do("new-session", "-d", "-s", "keep", "-x", "80", "-y", "24", "sleep", "100000"); err != nil {
		return nil, err
	}
	if err := t.do("set-option", "-g", "history-limit", "10000"); err != nil {
		return nil, err
	}
	out, err := capture(t.env, t.argv("display-message", "-p", "#{pid}")...)
	if err != nil {
		return nil, err
	}
	t.pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	return t, err
}

func (t *tmuxServer) argv(args ...string) []string {
	return append([]string{t.bin, "-f", "/dev/null"}, args...)
}

func (t *tmuxServer) do(args ...string) error {
	_, err := capture(t.env, t.argv(args...)...)
	return err
}

func (t *tmuxServer) timed(args ...string) (float64, error) {
	return timed(t.env, t.argv(args...)...)
}

func (t *tmuxServer) lane(line *series, args ...string) lane {
	return lane{line, func() (float64, error) { return t.timed(args...) }}
}

// close ends the server. Without one there is nothing to end.
func (t *tmuxServer) close() error {
	if t == nil {
		return nil
	}
	return t.do("kill-server")
}
