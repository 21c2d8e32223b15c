package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"den/internal/session/home"
)

// Defaults of a new session.
const (
	DefaultCols     = 120
	DefaultRows     = 40
	DefaultTerm     = "xterm-256color"
	DefaultLogLimit = 256 << 20 // bytes
)

// Create makes a session in root and starts its host. It returns when the
// session takes commands; on an error nothing is left.
func Create(ctx context.Context, root home.Home, spec home.Spec, o Options) (*Session, *home.Manifest, error) {
	if o.Binary == "" {
		var err error
		if o.Binary, err = os.Executable(); err != nil {
			return nil, nil, fmt.Errorf("find den's own binary: %w", err)
		}
	}
	d, m, err := root.Create(ctx, spec, o.Binary)
	if err != nil {
		return nil, nil, err
	}
	s := In(d, o)
	if o.Registry.Path != "" {
		if err := o.Registry.Add(root, time.Now()); err != nil {
			s.options.Warn(fmt.Errorf("the session runs, but its Home was not registered: %w", err))
		}
	}
	return s, m, nil
}

// outer are variables that describe the terminal den was called from. In the
// session they would be wrong.
var outer = []string{
	"DEN_TMUX_SESSION",
	"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLUMNS", "LINES",
	"TMUX", "TMUX_PANE", "STY", "WINDOW", "WINDOWID", "VTE_VERSION", "WT_SESSION", "KITTY_WINDOW_ID", "KITTY_PID",
	"KITTY_LISTEN_ON", "WEZTERM_PANE", "ALACRITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "KONSOLE_VERSION", "ITERM_SESSION_ID",
	home.HostMark, home.ProgramMark, home.SessionMark, home.RunnerMark, home.RunnerProcessMark, "DEN_SESSION", "DEN_HOME", "PWD",
}

// WithoutTerminal is an environment without what describes its own terminal
// and session.
func WithoutTerminal(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		return slices.Contains(outer, k)
	})
}

// TerminalEnv is what a program is told of its terminal and where it runs.
func TerminalEnv(root home.Home, term, cwd, version string) []string {
	return []string{
		"TERM=" + term, "COLORTERM=truecolor", "TERM_PROGRAM=den", "TERM_PROGRAM_VERSION=" + version,
		"PWD=" + cwd, "DEN_HOME=" + root.Path,
	}
}

// Shell is the user's own, else bash, else what every system has.
func Shell(getenv func(string) string) string {
	if sh := getenv("SHELL"); sh != "" {
		return sh
	}
	if sh, err := exec.LookPath("bash"); err == nil {
		return sh
	}
	return "/bin/sh"
}
