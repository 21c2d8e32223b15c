package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"den/internal/eventlog"
	"den/internal/home"
	"den/internal/host"
	"den/internal/vt"

	"github.com/spf13/cobra"
)

func (a *app) watchCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "watch [SESSION]",
		Short: "Follow a session as plain lines",
		Long: `Print what a session shows, line by line as lines are finished, without control
sequences and without the intermediate states of progress bars. It follows the event
log: it never disturbs the session and works for one that is over. Full-screen programs
have no lines; use 'den attach --read-only' for them.`,
		Example: "  den watch build",
		GroupID: groupSession,
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, _, err := a.optionalTarget(args, 0)
			if err != nil {
				return err
			}
			return a.runWatch(cmd.Context(), d)
		},
		ValidArgsFunction: a.completeSession,
	}
}

func (a *app) runWatch(ctx context.Context, d home.Dir) error {
	m, err := d.Inspect()
	if err != nil {
		return err
	}
	lw := &lineWatch{
		term: vt.New(vt.Config{Cols: m.Cols, Rows: m.Rows, Scrollback: host.Scrollback}),
		emit: func(line string) error {
			return a.answer(map[string]string{"line": line}, func(w io.Writer) { fmt.Fprintln(w, line) })
		},
	}
	if err := a.followSession(ctx, d, 0, lw.event); err != nil {
		return err
	}
	return lw.finish()
}

// lineWatch turns events into finished lines: those above the cursor on the
// main screen.
type lineWatch struct {
	term *vt.Terminal
	next int64 // the first line that was not printed, counted from the start
	text bool  // one of the printed lines was not empty
	emit func(string) error
}

func (l *lineWatch) event(ev eventlog.Event) error {
	if cols, rows, ok := ev.Size(); ok {
		l.term.Resize(cols, rows)
		return nil
	}
	out, ok := ev.Output()
	if !ok {
		return nil
	}
	// In parts, so that no more scrolls off at once than the emulator keeps.
	for len(out) > 0 {
		n := untilErase(out[:min(len(out), host.Scrollback/2)])
		l.term.Write(out[:n]) // never fails
		out = out[n:]
		if err := l.print(l.term.ScreenLine() + int64(l.term.Cursor().Row)); err != nil {
			return err
		}
	}
	return nil
}

// untilErase ends a part behind a sequence that erases: what it leaves of the
// screen must be seen before more is written.
func untilErase(out []byte) int {
	for i := range out {
		if out[i] == 'J' && i >= 2 && bytes.LastIndexByte(out[max(0, i-4):i], 0x1b) >= 0 {
			return i + 1
		}
	}
	return len(out)
}

// print emits the lines before the given one.
func (l *lineWatch) print(until int64) error {
	if l.term.Modes().AltScreen {
		return nil
	}
	l.next = max(l.next, l.term.FirstLine())
	if l.text && l.next > l.term.ScreenLine() && l.cleared() {
		l.next, l.text = l.term.ScreenLine(), false // a fresh screen: its lines are new ones
	}
	var line []byte
	for l.next < until {
		// A line that the terminal wrapped is printed whole, once its end is there.
		line = line[:0]
		at := l.next
		for {
			row := l.term.Row(int(at - l.term.ScreenLine()))
			line = row.AppendText(line)
			at++
			if !row.Wrapped() || at >= until {
				break
			}
		}
		l.next = at
		l.text = l.text || len(line) > 0
		if err := l.emit(string(line)); err != nil {
			return err
		}
	}
	return nil
}

// cleared reports whether the lines that were printed are gone from the screen.
func (l *lineWatch) cleared() bool {
	top := l.term.ScreenLine()
	_, rows := l.term.Size()
	for at := top; at < min(l.next, top+int64(rows)); at++ {
		if len(l.term.Row(int(at-top)).AppendText(nil)) > 0 {
			return false
		}
	}
	return true
}

// finish prints what the session ended with.
func (l *lineWatch) finish() error {
	cur := l.term.Cursor()
	until := l.term.ScreenLine() + int64(cur.Row)
	if cur.Col > 0 {
		until++
	}
	return l.print(until)
}
