package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/render/film"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type exportOptions struct {
	out       string
	format    string
	timing    string
	speed     float64
	idleLimit duration
	from, to  string
	masks     []string
	styles    bool
	pictures  bool
	lookOptions
	redactOptions
}

func (a *app) exportCmd() *cobra.Command {
	var o exportOptions
	cmd := a.onSession(&cobra.Command{
		Use:   "export [SESSION]",
		Short: "Export a recording: cast, GIF, video, text or a test",
		Long: `Make a recording of a session, running or over: cast (asciicast v3) and cast2 for
players, gif, webm and mp4 (both through ffmpeg), text, which is the lines that scrolled
off the screen and the last screen, or test: a script for 'den test', with what was typed,
waits for what came of it, and the screens at rest. Marks become chapters of videos and
markers of casts. Without -o it is kept as an artifact in the session's directory; -o -
writes it to stdout. An interrupted export leaves no file.

--timing accelerated limits pauses to 0.4 s, max to one frame.
--from and --to are times as for 'den snapshot --at': 90s is after the start, -10s ago.
--redact and --redact-tokens hide text in pictures and in casts; in a test it becomes a
variable where it was typed (tokens always). --mask leaves parts of its screens open, such
as times.`,
		Example: "  den export work -o work.gif --idle-limit 2s\n  den export work --format webm --speed 4 --from -5m\n  den export work --format cast --redact-tokens -o - > work.cast\n  den export work --format text -o work.txt\n  den export work --format test --mask '[0-9]+:[0-9]+' -o work.steps",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		if o.format == testFormat {
			return a.exportTest(ctx, s, o)
		}
		if len(o.masks) > 0 || o.styles || o.pictures {
			return fault.Errorf(fault.Usage, "--mask, --styles and --pictures are for --format test")
		}
		return a.runExport(ctx, s, o)
	})
	o.addFlags(cmd)
	f := cmd.Flags()
	f.Lookup("format").Usage = "cast, cast2, gif, webm, mp4, text or test (default: by the name of FILE, else cast)"
	f.StringArrayVar(&o.masks, "mask", nil, "test: what `REGEX` matches of a screen may be anything that it matches; repeatable")
	f.BoolVar(&o.styles, "styles", false, "test: expect how screens look, too, not only their text")
	f.BoolVar(&o.pictures, "pictures", false, "test: expect pictures of the screens, too, as NAME-1.png and so on beside FILE")
	return cmd
}

// addFlags adds those that say what becomes of a recording.
func (o *exportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.out, "output", "o", "", "write to `FILE`, or to stdout for -")
	f.StringVar(&o.format, "format", "", "cast, cast2, gif, webm, mp4 or text (default: by the name of FILE, else cast)")
	f.StringVar(&o.timing, "timing", "recorded", "recorded, accelerated or max")
	f.Float64Var(&o.speed, "speed", 1, "2 is twice as fast")
	f.Var(&o.idleLimit, "idle-limit", "limit pauses to this long")
	f.StringVar(&o.from, "from", "", "begin at this `TIME`")
	f.StringVar(&o.to, "to", "", "end at this `TIME`")
	o.lookOptions.addFlags(cmd)
	o.redactOptions.addFlags(cmd)
}

// exportAnswer is what the caller gets.
type exportAnswer struct {
	Session    string   `json:"session"`
	Path       string   `json:"path"`
	Format     string   `json:"format"`
	Bytes      int64    `json:"bytes"`
	DurationMS int64    `json:"duration_ms"`
	Frames     int      `json:"frames,omitempty"`
	Missing    []string `json:"missing,omitempty"` // what the log no longer has
}

func (a *app) runExport(ctx context.Context, s *session.Session, o exportOptions) (err error) {
	m, err := s.Dir.Inspect()
	if err != nil {
		return err
	}
	now := time.Now()
	fo, err := o.filmOptions(m, now)
	if err != nil {
		return err
	}
	if end := lastMoment(m, now); fo.From > end && (fo.To == 0 || fo.To > fo.From) {
		return fault.Hintf(fault.Errorf(fault.Export, "--from %s is after the end of the recording, which is %v long", o.from, end.Round(time.Millisecond)),
			"times count from the session's start; -10s is ten seconds ago")
	}
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return err
	}
	keep := func(tmp string) (string, error) { return keepExport(ctx, s, fo, tmp) }
	return a.export(ctx, log, "session '"+m.Name+"'", o, fo, keep)
}

// export makes a film of a log, puts it where the options say, and prints the
// result. keep takes one that they name no place for.
func (a *app) export(ctx context.Context, log *eventlog.Log, what string, o exportOptions, fo film.Options, keep func(tmp string) (path string, err error)) error {
	if o.out == "-" && a.json {
		return fault.Hintf(fault.Errorf(fault.Usage, "-o - and --json both want stdout"), "leave one of them out")
	}
	// In the destination directory, if there is one, so that it can be
	// renamed.
	dir := ""
	if o.out != "" && o.out != "-" {
		dir = filepath.Dir(o.out)
	}
	tmp, err := os.CreateTemp(dir, ".den-export-*") // mode 0600
	if err != nil {
		return fault.Hintf(notMade(fmt.Errorf("export %s: %w", what, err)), "-o FILE names a place that can be written")
	}
	defer func() {
		os.Remove(tmp.Name()) // Best effort: it is renamed, or not wanted.
	}()
	// A frame that is drawn when the signal comes can outlast the process.
	stop := context.AfterFunc(ctx, func() {
		os.Remove(tmp.Name()) // Best effort, as above.
	})
	bar := a.progressBar()
	fo.Progress = bar.show
	res, err := film.Write(ctx, tmp, log, fo)
	bar.clear()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = a.putExport(o, fo, tmp, res, keep)
	}
	err = errors.Join(err, tmp.Close())
	if err != nil && !errors.Is(err, context.Canceled) {
		return notMade(fmt.Errorf("export %s: %w", what, err))
	}
	return err
}

// putExport moves the recording to its destination and prints the result.
func (a *app) putExport(o exportOptions, fo film.Options, tmp *os.File, res *film.Result, keep func(tmp string) (string, error)) error {
	size, err := tmp.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	ans := exportAnswer{Session: fo.Title, Path: o.out, Format: string(fo.Format), Bytes: size, DurationMS: res.Duration.Milliseconds(), Frames: res.Frames}
	for _, missing := range res.Missing {
		ans.Missing = append(ans.Missing, missing.Error())
		fmt.Fprintf(a.stderr, "den: not in the recording: %v\n", missing)
	}
	switch o.out {
	case "-":
		if _, err := tmp.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(a.stdout, tmp)
		return err
	case "":
		if ans.Path, err = keep(tmp.Name()); err != nil {
			return fault.Hintf(err, "-o FILE writes it elsewhere")
		}
	default:
		if err := os.Rename(tmp.Name(), o.out); err != nil {
			return err
		}
	}
	return a.answer(ans, func(w io.Writer) { fmt.Fprintln(w, ans.Path) })
}

// keepExport makes an artifact of the recording.
func keepExport(ctx context.Context, s *session.Session, fo film.Options, tmp string) (path string, err error) {
	data, err := os.ReadFile(tmp)
	if err != nil {
		return "", err
	}
	last, err := s.Replay(ctx, session.Now())
	if err != nil {
		return "", err
	}
	seq := last.Position.Seq
	path, err = s.Dir.ArtifactPath(fmt.Sprintf("recording-%d-%s.%s", seq, fo.Format, fo.Format.Extension()))
	if err != nil {
		return "", err
	}
	return path, s.Dir.SaveArtifact(path, home.Artifact{Kind: "recording", Seq: seq}, data)
}

func (o *exportOptions) filmOptions(m *home.Manifest, now time.Time) (film.Options, error) {
	fo := film.Options{
		Format: film.Format(o.format), Timing: film.Timing(o.timing), Speed: o.speed, IdleLimit: time.Duration(o.idleLimit),
		Title: m.Name,
	}
	if o.format == "" {
		fo.Format = formatOf(o.out)
	}
	if o.speed == 0 {
		return fo, fault.Errorf(fault.Usage, "--speed 0 would take for ever")
	}
	var err error
	if fo.Render, err = o.lookOptions.options(); err != nil {
		return fo, err
	}
	fo.Render.Cursor = render.CursorAsSet
	if fo.Redact, err = o.redactor(); err != nil {
		return fo, err
	}
	if fo.From, err = exportTime("--from", o.from, m, now); err != nil {
		return fo, err
	}
	fo.To, err = exportTime("--to", o.to, m, now)
	return fo, err
}

// formatOf takes the format from a file's name.
func formatOf(path string) film.Format {
	switch ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); ext {
	case "txt":
		return film.Text
	case "gif", "webm", "mp4":
		return film.Format(ext)
	}
	return film.Cast
}

// exportTime reads --from or --to as a time since the session's start.
func exportTime(flag, at string, m *home.Manifest, now time.Time) (time.Duration, error) {
	if at == "" {
		return 0, nil
	}
	d, err := parseAt(at, m.Created, now)
	if err != nil {
		return 0, fault.Errorf(fault.Usage, "%s: '%s' is not a time such as 14:03:22, 90s or -10s", flag, at)
	}
	if d <= 0 && flag == "--to" {
		return 0, fault.Errorf(fault.Usage, "--to %s is not after the session's start at %s", at, m.Created.Local().Format(time.DateTime))
	}
	return max(d, 0), nil
}

// lastMoment is how long a session has run: until it ended, or until now.
func lastMoment(m *home.Manifest, now time.Time) time.Duration {
	if !m.Ended.IsZero() {
		now = m.Ended
	}
	return now.Sub(m.Created)
}

// progressBar shows the progress of a long export at a terminal.
type progressBar struct {
	to    io.Writer // or nil: nobody looks
	begun time.Time
	last  time.Time
	shown bool
}

func (a *app) progressBar() *progressBar {
	b := &progressBar{begun: time.Now()}
	b.to = terminalOf(a.stderr)
	return b
}

// show prints nothing for exports that finish quickly.
func (b *progressBar) show(done, total time.Duration) {
	now := time.Now()
	if b.to == nil || total <= 0 || now.Sub(b.begun) < 500*time.Millisecond || now.Sub(b.last) < 100*time.Millisecond {
		return
	}
	b.last, b.shown = now, true
	const width = 30
	part := min(float64(done)/float64(total), 1)
	full := int(part * width)
	fmt.Fprintf(b.to, "\r%s%s %3.0f%%", strings.Repeat("█", full), strings.Repeat("░", width-full), part*100)
}

func (b *progressBar) clear() {
	if b.shown {
		fmt.Fprint(b.to, "\r\x1b[K")
	}
}

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
