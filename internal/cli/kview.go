package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"den/internal/eventlog"
	"den/internal/home"
	"den/internal/host"
	"den/internal/vt"
)

// kLines turns a session's log into what k shows of it: finished lines, and
// markers where cells begin and end and messages come.
type kLines struct {
	lineWatch
	last string // the line printed last
	show func(string) error
}

func newKLines(term *vt.Terminal, show func(string) error) *kLines {
	l := &kLines{show: show}
	l.term = term
	l.emit = l.text
	return l
}

// text is one line of the program's.
func (l *kLines) text(line string) error {
	line = strings.TrimRight(line, " \t")
	if strings.TrimSpace(line) == "..." || strings.HasPrefix(strings.TrimSpace(line), "... ") {
		return nil // Python asks for more
	}
	return l.line(line)
}

func (l *kLines) line(line string) error {
	if strings.TrimSpace(line) == "" || line == l.last {
		return nil
	}
	l.last = line
	return l.show(line)
}

func (l *kLines) event(ev eventlog.Event) error {
	e, ok := eventOf(ev)
	switch {
	case ok && e.Status == "notify":
		return l.line(fmt.Sprintf("\x1b[33m📢 %s\x1b[0m \x1b[2m(%s)\x1b[0m", strings.ReplaceAll(e.Message, "\n", `\n`), e.From))
	case ok && e.Status == "fired":
		return l.line(fmt.Sprintf("\x1b[2;36m── %.8s ──\x1b[0m", e.CellID))
	case ok && e.Status == "done":
		return l.line("\x1b[2;32m── ✓ ──\x1b[0m")
	}
	return l.lineWatch.event(ev)
}

// watch is k watch: from now on, until Ctrl-C or the session's end.
func (k kTool) watch(args []string) int {
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	d, err := k.live(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	now, err := replayTo(d, point{})
	if err != nil {
		return k.say(1, "ERR no log")
	}
	ctx, stop := kCanceled(syscall.SIGTERM)
	defer stop()
	k.say(0, "\x1b[2mwatching %s (ctrl-c to stop)\x1b[0m\n", name)
	l := newKLines(now.Terminal, k.printLine)
	l.next = now.Terminal.ScreenLine() + int64(now.Terminal.Cursor().Row)
	err = k.followSession(ctx, d, now.Position.Seq, l.event)
	switch {
	case errors.Is(err, context.Canceled):
		return k.say(0, "\n\x1b[2mstopped\x1b[0m")
	case err == nil:
		err = l.finish()
	}
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	return 0
}

func (k kTool) printLine(line string) error {
	_, err := fmt.Fprintln(k.stdout, line)
	return err
}

// history is k history: the last N×5 lines, or all for 0.
func (k kTool) history(args []string) int {
	n := 5
	for len(args) > 0 && args[0] == "-n" {
		ok := len(args) > 1
		if ok {
			n, ok = pyInt(args[1])
		}
		if !ok || n < 0 {
			return k.say(1, "%s", kHistoryUsage)
		}
		args = args[2:]
	}
	name, ok := k.implied(args)
	if !ok {
		return 1
	}
	d, _, err := k.find(name)
	if err != nil {
		return k.say(1, "ERR %v", err)
	}
	lines, err := kHistory(d, n*linesPerStep)
	if err != nil {
		return k.say(1, "ERR no log")
	}
	for _, l := range lines {
		if k.printLine(l) != nil {
			return 1
		}
	}
	return 0
}

// kHistory returns the last lines of the log, or all for 0.
func kHistory(d home.Dir, most int) ([]string, error) {
	log, err := eventlog.Open(d.Log())
	if err != nil {
		return nil, err
	}
	var lines []string
	keep := func(line string) error {
		if lines = append(lines, line); most > 0 && len(lines) >= 2*most {
			lines = append(lines[:0], lines[len(lines)-most:]...)
		}
		return nil
	}
	var l *kLines
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
			l = newKLines(vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: host.Scrollback}), keep)
		default:
			l.event(ev) // keep never fails
		}
	}
	if l != nil {
		l.finish() // as above
	}
	if most > 0 {
		lines = lines[max(0, len(lines)-most):]
	}
	return lines, nil
}
