package k

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"den/internal/screen/eventlog"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/cell"
)

// lines turns a session's log into what k shows of it: finished lines, and
// markers where cells begin and end and messages come.
type lines struct {
	program *replay.Lines
	last    string // the line printed last
	show    func(string) error
}

func newLines(term *vt.Terminal, show func(string) error) *lines {
	l := &lines{show: show}
	l.program = replay.NewLines(term, l.text)
	return l
}

// text is one line of the program's.
func (l *lines) text(line string) error {
	line = strings.TrimRight(line, " \t")
	if strings.TrimSpace(line) == "..." || strings.HasPrefix(strings.TrimSpace(line), "... ") {
		return nil // Python asks for more
	}
	return l.line(line)
}

func (l *lines) line(line string) error {
	if strings.TrimSpace(line) == "" || line == l.last {
		return nil
	}
	l.last = line
	return l.show(line)
}

func (l *lines) event(ev eventlog.Event) error {
	e, ok := session.EventOf(ev)
	switch {
	case ok && e.Status == session.StatusNotify:
		return l.line(fmt.Sprintf("\x1b[33m📢 %s\x1b[0m \x1b[2m(%s)\x1b[0m", strings.ReplaceAll(e.Message, "\n", `\n`), e.From))
	case ok && e.Status == string(cell.Fired):
		return l.line(fmt.Sprintf("\x1b[2;36m── %.8s ──\x1b[0m", e.CellID))
	case ok && (e.Status == string(cell.Done) || e.Status == string(cell.Unsure)):
		return l.line("\x1b[2;32m── ✓ ──\x1b[0m")
	}
	return l.program.Apply(ev)
}

// linesPerStep is what one of history's -n stands for.
const linesPerStep = 5

// watch is k watch: from now on, until Ctrl-C or the session's end.
func (k Tool) watch(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, err := k.live(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	now, err := s.Replay(context.Background(), session.Now())
	if err != nil {
		return k.say(1, "ERR no log")
	}
	ctx, stop := untilInterrupted(syscall.SIGTERM)
	defer stop()
	k.say(0, "\x1b[2mwatching %s (ctrl-c to stop)\x1b[0m\n", name)
	l := newLines(now.Terminal, k.printLine)
	err = s.Follow(ctx, now.Position.Seq, l.event)
	switch {
	case errors.Is(err, context.Canceled):
		return k.say(0, "\n\x1b[2mstopped\x1b[0m")
	case err == nil:
		err = l.program.Finish()
	}
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	return 0
}

// history is k history: the last N×5 lines, or all for 0.
func (k Tool) history(args []string) int {
	n := 5
	for len(args) > 0 && args[0] == "-n" {
		ok := len(args) > 1
		if ok {
			n, ok = pyInt(args[1])
		}
		if !ok || n < 0 {
			return k.say(1, "%s", historyUsage)
		}
		args = args[2:]
	}
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	s, _, err := k.find(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	shown, err := history(s, n*linesPerStep)
	if err != nil {
		return k.say(1, "ERR no log")
	}
	for _, l := range shown {
		if k.printLine(l) != nil {
			return 1
		}
	}
	return 0
}

// history returns the last lines of the log, or all for 0.
func history(s *session.Session, most int) ([]string, error) {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, err
	}
	var shown []string
	keep := func(line string) error {
		if shown = append(shown, line); most > 0 && len(shown) >= 2*most {
			shown = append(shown[:0], shown[len(shown)-most:]...)
		}
		return nil
	}
	var l *lines
	for ev, err := range log.Play() {
		if eventlog.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		cols, rows, size := ev.Size()
		switch {
		case size && ev.Repaint: // the beginning, or what is behind a gap
			l = newLines(vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: replay.Scrollback}), keep)
		default:
			l.event(ev) // keep never fails
		}
	}
	if l != nil {
		l.program.Finish() // as above
	}
	if most > 0 {
		shown = shown[max(0, len(shown)-most):]
	}
	return shown, nil
}
