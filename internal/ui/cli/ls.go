package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
	"unicode"

	"den/internal/base/brief"
	"den/internal/session"
	"den/internal/session/attention"
	"den/internal/session/home"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

// listed is one session as ls shows it.
type listed struct {
	Session    string      `json:"session"`
	ID         string      `json:"id"`
	Status     home.Status `json:"status"`
	Command    []string    `json:"command"`
	Cols       int         `json:"cols"`
	Rows       int         `json:"rows"`
	PID        int         `json:"pid"`
	Created    time.Time   `json:"created"`
	LastOutput *time.Time  `json:"last_output,omitempty"`
	ExitCode   *int        `json:"exit_code,omitempty"`
	ExitSignal string      `json:"exit_signal,omitempty"`
	// LeftRunning is how many processes the dead host of a lost session left.
	LeftRunning int `json:"left_running,omitempty"`
	// Attention says whether the session needs a person.
	Attention attention.Attention `json:"attention"`
}

func (a *app) lsCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the sessions of a Home, and which of them need you",
		Long: `List the sessions of a Home. ATTENTION says whether a session needs you: asking (it waits
for an answer), failed and done (nobody has looked yet), busy, ready (it waits for input), over.
'den attention' lists those that need you, and 'den seen' says that you have looked.`,
		Example: "  den ls\n  den ls --all -j",
		Args:    args(0, 0),
		RunE: func(*cobra.Command, []string) error {
			root, err := a.home()
			if err != nil {
				return err
			}
			sessions, err := a.list(root, all)
			return a.result(err, map[string]any{"sessions": sessions}, func(io.Writer) { printSessions(a.sheet(), sessions, all) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also sessions that are over")
	return a.colorFlag(cmd)
}

// list returns the sessions, oldest first. A record that cannot be read is
// reported and does not hide the others.
func (a *app) list(root home.Home, all bool) ([]listed, error) {
	dirs, err := root.All()
	if err != nil {
		return nil, err
	}
	sessions := []listed{}
	var records []*home.Manifest
	for _, r := range a.readEach(dirs) {
		switch {
		case r.err != nil:
			fmt.Fprintf(a.stderr, "den: %v\n", r.err)
		case all || r.record.Status.Active():
			sessions = append(sessions, r.session)
			records = append(records, r.record)
		}
	}
	countLeft(root, sessions, records)
	return sessions, nil
}

// reading is what the files of a session say.
type reading struct {
	record  *home.Manifest
	session listed
	err     error
}

// readAlone is how many sessions are read faster by one than by several.
const readAlone = 16

// readEach reads sessions, several at a time: there may be hundreds.
func (a *app) readEach(dirs []home.Dir) []reading {
	all := make([]reading, len(dirs))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(dirs)/readAlone+1) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(dirs)); i = next.Add(1) - 1 {
				all[i] = a.readSession(dirs[i])
			}
		})
	}
	readers.Wait()
	return all
}

func (a *app) readSession(d home.Dir) reading {
	m, err := d.Reconcile()
	if err != nil {
		return reading{err: err}
	}
	l := listed{
		Session: m.Name, ID: m.ID, Status: m.Status, Command: m.Command, Cols: m.Cols, Rows: m.Rows,
		PID: m.PID, Created: m.Created, ExitCode: m.ExitCode, ExitSignal: m.ExitSignal,
		Attention: d.Attention(m),
	}
	if a.json { // the table has no room for it
		if t, err := d.LastWrite(); err == nil {
			t = t.UTC()
			l.LastOutput = &t
		}
	}
	return reading{record: m, session: l}
}

// countLeft counts what dead hosts left running. All counts are asked for at
// once, because they share one scan of the processes.
func countLeft(root home.Home, sessions []listed, records []*home.Manifest) {
	var counting sync.WaitGroup
	for i, m := range records {
		if m.Status == home.Lost {
			counting.Go(func() { sessions[i].LeftRunning = len(root.Dir(m.ID).LeftRunning(m)) })
		}
	}
	counting.Wait()
}

func printSessions(to sheet, sessions []listed, all bool) {
	if len(sessions) == 0 {
		text := "no active sessions"
		if all {
			text = "no sessions"
		}
		to.line(span{text: text})
		return
	}
	rows := [][]span{header("SESSION", "STATUS", "ATTENTION", "PID", "SIZE", "AGE", "COMMAND")}
	for _, s := range sessions {
		rows = append(rows, []span{
			{s.Session, strong}, s.statusSpan(), attentionSpan(s.Attention), {text: s.pid()}, {text: fmt.Sprintf("%dx%d", s.Cols, s.Rows)},
			{text: brief.Age(time.Since(s.Created))}, {text: oneLine(strings.Join(home.ShownCommand(s.Command), " "), 60)},
		})
	}
	to.table(rows)
}

// pid is that of the program, or "-" where it has none here: it runs in a pod, or
// has not started.
func (s listed) pid() string {
	if s.PID == 0 {
		return "-"
	}
	return strconv.Itoa(s.PID)
}

// statusSpan is the session's status with how it ended.
func (s listed) statusSpan() span {
	text := string(s.Status)
	switch {
	case s.LeftRunning > 0:
		text += fmt.Sprintf(" (%d running)", s.LeftRunning)
	case s.ExitSignal != "":
		text += " (" + s.ExitSignal + ")"
	case s.ExitCode != nil:
		text += fmt.Sprintf(" (%d)", *s.ExitCode)
	}
	switch {
	case s.Status == home.Running:
		return span{text, good}
	case s.Status.Active():
		return span{text, warning}
	case s.Status == home.Lost:
		return span{text, odd}
	case s.Status == home.Failed, s.Status == home.Exited && s.ExitCode != nil && *s.ExitCode != 0:
		return span{text, bad}
	}
	return span{text, faint}
}

// oneLine formats text for a table: no control characters, at most n runes.
func oneLine(s string, n int) string {
	return brief.Runes(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), n)
}

func (a *app) statusCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:     "status [SESSION]",
		Aliases: []string{"inspect"},
		Short:   "Show everything known about a session",
		Long: `Show everything known about a session: its program, the foreground process, whether it
waits for input and how that is known, sizes, and the state of the recording.`,
		Example: "  den status work -j",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		status, err := s.Status(ctx)
		if err != nil {
			return err
		}
		status.Home = s.Dir.Home.Path
		return a.answer(status, func(w io.Writer) { printStatus(w, status) })
	})
}

func printStatus(w io.Writer, s *wire.Status) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(k, format string, v ...any) { fmt.Fprintf(tw, "%s\t%s\n", k, fmt.Sprintf(format, v...)) }
	line("session", "%s (%s)", s.Session, s.ID)
	status := s.Status
	if s.ExitCode != nil {
		status += fmt.Sprintf(" (status %d%s)", *s.ExitCode, strings.TrimSuffix(", "+s.ExitSignal, ", "))
	}
	if s.Failure != "" {
		status += ": " + s.Failure
	}
	line("status", "%s", status)
	if s.LeftRunning > 0 {
		line("left running", "%d processes that its host left; 'den kill %s' ends them", s.LeftRunning, s.Session)
	}
	line("command", "%s", oneLine(strings.Join(s.Command, " "), 200))
	line("directory", "%s", s.Cwd)
	if s.Foreground != nil {
		line("foreground", "%s (pid %d)", oneLine(s.Foreground.Command, 120), s.Foreground.PID)
	}
	if s.Ready != nil {
		line("input", "%s: %s", s.Ready.State, s.Ready.Why)
	}
	screenWord := "main"
	if s.AltScreen {
		screenWord = "alternate"
	}
	line("terminal", "%dx%d, %s screen, %s", s.Cols, s.Rows, screenWord, s.Term)
	if s.Title != "" {
		line("title", "%s", oneLine(s.Title, 120))
	}
	line("screen", "%s at seq %d", s.ScreenHash, s.Seq)
	line("log", "%s in %d segments, from seq %d", formatBytes(s.Log.Bytes), s.Log.Segments, s.Log.FirstSeq)
	if s.Log.DroppedSegments > 0 {
		line("", "%d older segments (%s) were dropped under the limit", s.Log.DroppedSegments, formatBytes(s.Log.DroppedBytes))
	}
	if s.Log.Paused != "" {
		line("", "NOT RECORDING: %s (%d events lost)", s.Log.Paused, s.Log.LostEvents)
	} else if s.Log.LostEvents > 0 {
		line("", "%d events were lost while it could not be written", s.Log.LostEvents)
	}
	line("created", "%s (%s ago)", s.Created.Local().Format(time.DateTime), brief.Age(time.Since(s.Created)))
	if s.LastOutput != nil {
		line("last output", "%s ago", brief.Age(time.Since(*s.LastOutput)))
	}
	if s.HostPID != 0 {
		line("host", "pid %d, den %s, %d clients, %d attached", s.HostPID, s.HostVersion, s.Clients, s.Attached)
	}
	tw.Flush() // to stdout: as good as Fprintln
}
