package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/session/home"
	"den/internal/session/wire"
)

// Options say how sessions are reached. The zero value reaches those of this
// machine.
type Options struct {
	Version string // of the caller's build; hosts learn it
	Dial    Dialer // or nil: the Unix socket that the record names
	// Remote says that the session's files are not on this machine: all is
	// asked of its host. Then only the Dir's ID counts, and when the host is
	// gone there is nobody left to ask.
	Remote bool
	// Warn, or nil, is told what an answer lacks because it could not be read.
	Warn func(error)

	// For Create alone.
	Binary   string        // den, or empty: this executable
	Registry home.Registry // that learns of the Home, or zero: none
}

// A Session is one session, alive or over. It may be used by any number of
// goroutines.
type Session struct {
	Dir     home.Dir
	options Options
	atOnce  time.Duration // the longest that a host takes for what it knows
}

// answerLimit is atOnce, but for tests. A host that takes longer hangs: the
// largest screen on a busy machine is a fraction of it.
const answerLimit = 30 * time.Second

// Open finds a session by its name, or by its id or a beginning of it.
func Open(root home.Home, ref string, o Options) (*Session, error) {
	d, err := root.Find(ref)
	if err != nil {
		return nil, err
	}
	return In(d, o), nil
}

// In returns the session whose directory this is.
func In(d home.Dir, o Options) *Session {
	if o.Remote {
		d = home.Dir{ID: d.ID} // nothing is looked for here
	}
	if o.Dial == nil {
		o.Dial = dialSocket
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return &Session{Dir: d, options: o, atOnce: answerLimit}
}

// dial reaches the host. The record of a session whose host died is marked as
// lost by whoever notices first.
func (s *Session) dial(ctx context.Context) (*Client, error) {
	c, err := dial(ctx, s.Dir, s.options)
	if fault.KindOf(err) == fault.NotRunning && !s.options.Remote {
		if _, rerr := s.Dir.Reconcile(); rerr != nil && fault.KindOf(rerr) != fault.NotFound {
			s.options.Warn(rerr)
		}
	}
	return c, err
}

// call asks the host for one thing.
func (s *Session) call(ctx context.Context, method string, params, result any) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close() // Best effort: the answer is here.
	return c.Call(ctx, method, params, result)
}

// HostStatus is what the host knows of its session. One that is over is
// NotRunning.
func (s *Session) HostStatus(ctx context.Context) (*wire.Status, error) {
	var status wire.Status
	if err := s.callWithin(ctx, s.atOnce, wire.MethodStatus, nil, &status); err != nil {
		return nil, err
	}
	return &status, nil
}

// Status is all that is known of the session, from its host or, when it is
// over, from its record.
func (s *Session) Status(ctx context.Context) (*wire.Status, error) {
	if s.options.Remote {
		return s.HostStatus(ctx)
	}
	m, err := s.Dir.Reconcile()
	if err != nil {
		return nil, err
	}
	if m.Status.Active() {
		status, err := s.HostStatus(ctx)
		if err == nil {
			return status, nil
		}
		var ierr error
		if m, ierr = s.Dir.Inspect(); ierr != nil || m.Status.Active() {
			return nil, err
		}
	}
	return s.recorded(ctx, m), nil
}

// recorded is the status of a session that is over. The record is an answer
// of its own: what cannot be read beside it is only warned of.
func (s *Session) recorded(ctx context.Context, m *home.Manifest) *wire.Status {
	status := &wire.Status{
		Session: m.Name, ID: m.ID, Status: string(m.Status), Failure: m.Failure,
		Command: m.Command, Cwd: m.Cwd, Term: m.Term, Labels: m.Labels, Cols: m.Cols, Rows: m.Rows,
		HostVersion: m.Host, Created: m.Created, ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
		Seq: m.FinalSeq, ScreenHash: m.ScreenHash, RecordInput: m.RecordInput,
	}
	if !m.Ended.IsZero() {
		status.Ended = &m.Ended
	}
	if m.Status == home.Lost {
		status.LeftRunning = len(s.Dir.LeftRunning(m))
	}
	if err := s.describeLog(&status.Log); err != nil {
		s.options.Warn(err)
		return status
	}
	if status.ScreenHash == "" { // lost: nobody wrote it down
		shot, err := s.replayed(ctx, Now(), 0)
		if err != nil {
			s.options.Warn(err)
			return status
		}
		status.Seq, status.ScreenHash = shot.Seq, shot.Screen.Hash
		status.Title, status.AltScreen = shot.Screen.Title, shot.Screen.AltScreen
	}
	return status
}

// describeLog measures the log on the disk.
func (s *Session) describeLog(status *wire.LogStatus) error {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return err
	}
	segments, err := log.Segments()
	if err != nil {
		return fmt.Errorf("list the log's segments: %w", err)
	}
	for i, seg := range segments {
		status.Segments++
		status.Bytes += seg.Size
		if i == 0 {
			status.FirstSeq = seg.FirstSeq()
		}
	}
	return nil
}

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
