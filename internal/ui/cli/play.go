package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"den/internal/base/poll"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/replay"
	"den/internal/screen/vt"

	"golang.org/x/term"
)

// playFrame is the least time between two screens of a recording that is
// played.
const playFrame = 33 * time.Millisecond

// acceleratedPause is the longest pause of film.Accelerated.
const acceleratedPause = 400 * time.Millisecond

// pace turns the time between two events into the time that a viewer waits.
func pace(gap time.Duration, o film.Options) time.Duration {
	switch o.Timing {
	case film.Accelerated:
		gap = min(gap, acceleratedPause)
	case film.Max:
		gap = min(gap, playFrame)
	}
	if o.IdleLimit > 0 {
		gap = min(gap, o.IdleLimit)
	}
	if o.Speed > 0 {
		gap = time.Duration(float64(gap) / o.Speed)
	}
	return gap
}

// play shows a recording on the terminal, as fast as it was made. It draws the
// screens of an emulator: what programs sent is not passed on, because it could
// change the viewer's terminal, or have it answer.
func (a *app) play(ctx context.Context, out *os.File, log *eventlog.Log, o film.Options, title string) (err error) {
	h, err := log.Header()
	if err != nil {
		return err
	}
	t := vt.New(vt.Config{Cols: h.Cols, Rows: h.Rows, Scrollback: replay.Scrollback})
	fmt.Fprint(out, "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[2J")
	defer func() {
		fmt.Fprint(out, "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l") // Best effort: the terminal may be gone.
		if err == nil {
			fmt.Fprintln(a.text, title)
		}
	}()
	begun, at, last := time.Now(), time.Duration(0), o.From
	for ev, err := range log.Events(0) {
		switch {
		case eventlog.Missing(err):
			continue
		case err != nil:
			return err
		case o.To > 0 && ev.Time > o.To:
			return linger(ctx, out, t)
		case ev.Time > o.From:
			at += pace(ev.Time-last, o)
			last = ev.Time
		}
		if rest := time.Until(begun.Add(at)); rest > playFrame {
			if err := drawFrame(out, t); err != nil {
				return err
			}
			if err := poll.Pause(ctx, rest); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		replay.Apply(t, ev)
	}
	return linger(ctx, out, t)
}

// lastScreen is how long the end of a recording stays.
const lastScreen = time.Second

func linger(ctx context.Context, out *os.File, t *vt.Terminal) error {
	if err := drawFrame(out, t); err != nil {
		return err
	}
	return poll.Pause(ctx, lastScreen)
}

// drawFrame draws a screen. Of one that is taller than the terminal the part
// with the cursor is shown; what is too wide is cut off by the terminal, which
// does not wrap.
func drawFrame(out *os.File, t *vt.Terminal) error {
	shot := screen.Capture(t, 0)
	rows := shot.Rows
	if _, tall, err := term.GetSize(int(out.Fd())); err == nil && tall > 0 {
		rows = tall
	}
	_, err := out.WriteString(frameText(&shot, rows))
	return err
}

// frameText is what draws a screen on so many rows, from the top left corner.
func frameText(shot *screen.Snapshot, rows int) string {
	lines := strings.Split(shot.ANSI(), "\n")
	if top := shot.Cursor.Row + 1 - rows; top > 0 {
		lines = lines[min(top, len(lines)):]
	}
	var b strings.Builder
	b.WriteString("\x1b[H")
	for y := range rows {
		if y < len(lines) {
			b.WriteString(lines[y])
		}
		b.WriteString("\x1b[0m\x1b[K")
		if y < rows-1 {
			b.WriteString("\r\n")
		}
	}
	return b.String()
}

// linesOf passes on the lines that a recording shows, as 'den watch' prints
// them, with the time at which each was finished.
func linesOf(ctx context.Context, log *eventlog.Log, each func(elapsed time.Duration, line string) error) error {
	h, err := log.Header()
	if err != nil {
		return err
	}
	var at time.Duration
	lines := replay.NewLines(vt.New(vt.Config{Cols: h.Cols, Rows: h.Rows, Scrollback: replay.Scrollback}), func(line string) error { return each(at, line) })
	for ev, err := range log.Events(0) {
		switch {
		case eventlog.Missing(err):
			continue
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		at = ev.Time
		if err := lines.Apply(ev); err != nil {
			return err
		}
	}
	return lines.Finish()
}
