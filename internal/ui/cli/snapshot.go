package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/plainjson"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/wire"

	"github.com/spf13/cobra"
)

type snapshotOptions struct {
	format     string
	scrollback string
	at         string
	seq        uint64
	redactOptions
}

func (a *app) snapshotCmd() *cobra.Command {
	var o snapshotOptions
	cmd := &cobra.Command{
		Use:   "snapshot [SESSION]",
		Short: "Print the screen, current or past",
		Long: `Print the screen of a session, running or over. --at takes a time of day, a date and
time, or a duration: 90s is a minute and a half after the start, -10s ten seconds ago.
The result is also kept as an artifact in the session's directory, unless it is redacted.`,
		Example: "  den snapshot work\n  den snapshot work --format json --scrollback 100 -j\n  den snapshot work --at -30s\n  den snapshot work --format html > screen.html",
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "text, json (styled runs), ansi or html")
	f.StringVar(&o.scrollback, "scrollback", "0", "also `N` lines above the screen, or all")
	o.addFlags(cmd)
	return a.onSession(cmd, 0, func(_ context.Context, s *session.Session, _ []string) error {
		err := a.runSnapshot(cmd, s, o)
		if err == nil {
			a.looked(s)
		}
		return err
	})
}

// addFlags adds those that say which screen is shown, and what is hidden of it.
func (o *snapshotOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "the screen at this `TIME`")
	f.Uint64Var(&o.seq, "seq", 0, "the screen after event `N`")
	o.redactOptions.addFlags(cmd)
	cmd.MarkFlagsMutuallyExclusive("at", "seq")
}

// look returns what these flags mean for a session: hide is nil where nothing is
// hidden.
func (o *snapshotOptions) look(cmd *cobra.Command, s *session.Session) (hide *redact.Redactor, m *home.Manifest, p session.Moment, err error) {
	if hide, err = o.redactor(); err != nil {
		return nil, nil, p, err
	}
	if m, err = s.Dir.Inspect(); err != nil {
		return nil, nil, p, err
	}
	p, err = parseMoment(*o, m, time.Now(), cmd.Flags().Changed("seq"))
	return hide, m, p, err
}

// parseMoment reads --at and --seq.
func parseMoment(o snapshotOptions, m *home.Manifest, now time.Time, bySeq bool) (session.Moment, error) {
	if bySeq {
		if o.seq == 0 {
			return session.Moment{}, fault.Errorf(fault.Usage, "--seq: events are numbered from 1")
		}
		return session.AtSeq(o.seq), nil
	}
	if o.at == "" {
		return session.Now(), nil
	}
	since, err := parseAt(o.at, m.Created, now)
	if err != nil {
		return session.Moment{}, err
	}
	if since < 0 {
		return session.Moment{}, fault.Errorf(fault.Usage, "--at %s is before the session's start at %s", o.at, m.Created.Local().Format(time.DateTime))
	}
	return session.At(since), nil
}

// parseAt returns the time since the session's start.
func parseAt(at string, created, now time.Time) (time.Duration, error) {
	if ago, ok := strings.CutPrefix(at, "-"); ok {
		var d duration
		if err := d.Set(ago); err != nil {
			return 0, fault.Errorf(fault.Usage, "--at: %w", err)
		}
		return now.Add(-time.Duration(d)).Sub(created), nil
	}
	var d duration
	if d.Set(at) == nil {
		return time.Duration(d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", time.TimeOnly, "15:04"} {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day: the last such moment
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
			if t.After(now) {
				t = t.AddDate(0, 0, -1)
			}
		}
		return t.Sub(created), nil
	}
	return 0, fault.Errorf(fault.Usage, "--at: '%s' is not a time such as 14:03:22, 2026-01-31T14:03:22Z, 90s or -10s", at)
}

// snapshotAnswer is the result of snapshot, and the content of the artifact.
type snapshotAnswer struct {
	Session    string        `json:"session"`
	Seq        uint64        `json:"seq"`
	Cols       int           `json:"cols"`
	Rows       int           `json:"rows"`
	Cursor     screen.Cursor `json:"cursor"`
	Format     string        `json:"format"`
	Text       *string       `json:"text,omitempty"`       // also ansi and html
	Cells      lazy          `json:"cells,omitempty"`      // []screen.Line
	Scrollback lazy          `json:"scrollback,omitempty"` // []screen.Line
	Title      string        `json:"title"`
	AltScreen  bool          `json:"alt_screen"`
	Mouse      string        `json:"mouse,omitempty"` // as in screen.Plain
	ScreenHash string        `json:"screen_hash"`
	Images     lazy          `json:"images,omitempty"` // []screen.Image: which of them cells name, without their pixels
	Frozen     bool          `json:"frozen,omitempty"`
	Question   string        `json:"question,omitempty"` // that the active cell asks now: of a menu all of it, with its cursor
	Artifact   string        `json:"artifact,omitempty"`
}

// lazy is a slice whose type encoding/json learns only if it is set: for those
// of a styled screen that takes longer than to write a text.
type lazy any

// setUnlessEmpty leaves out an empty slice, as omitempty does.
func setUnlessEmpty[T any](to *lazy, list []T) {
	if len(list) > 0 {
		*to = list
	}
}

func (a *app) runSnapshot(cmd *cobra.Command, s *session.Session, o snapshotOptions) error {
	lines, err := parseScrollback(o.scrollback)
	if err != nil {
		return err
	}
	switch o.format {
	case "text", "json", "ansi", "html":
	default:
		return fault.Errorf(fault.Usage, "--format is text, json, ansi or html, not '%s'", o.format)
	}
	hide, m, p, err := o.look(cmd, s)
	if err != nil {
		return err
	}
	if hide != nil {
		shot, err := redactedSnapshot(cmd.Context(), s, p, hide, lines)
		if err != nil {
			return err
		}
		return a.putSnapshot(answerFor(m.Name, shot, o.format))
	}
	ans, err := takeSnapshot(cmd.Context(), s, p, m.Name, o.format, lines)
	if err != nil {
		return err
	}
	if ans.Artifact, err = s.Dir.ArtifactPath(artifactName(ans.Seq, o)); err == nil {
		err = keepSnapshot(s.Dir, ans)
	}
	if err != nil {
		// The answer is good all the same: a reader need not be able to write.
		ans.Artifact = ""
		if kind := fault.KindOf(err); kind != fault.Denied && kind != fault.Storage {
			fmt.Fprintf(a.stderr, "den: the artifact was not kept: %v\n", err)
		}
	}
	if p == session.Now() {
		if r, err := s.Poll(""); err == nil && r.Asks() {
			ans.Question = r.Question
		}
	}
	return a.putSnapshot(ans)
}

// takeSnapshot asks only for what the format shows.
func takeSnapshot(ctx context.Context, s *session.Session, at session.Moment, name, format string, scrollback int) (snapshotAnswer, error) {
	if format == "text" && scrollback == 0 {
		shot, err := s.PlainSnapshot(ctx, at)
		if err != nil {
			return snapshotAnswer{}, err
		}
		ans := describe(name, *shot, format)
		ans.Text = &shot.Screen.Text
		return ans, nil
	}
	shot, err := s.Snapshot(ctx, at, scrollback)
	if err != nil {
		return snapshotAnswer{}, err
	}
	return answerFor(name, shot, format), nil
}

// redactedSnapshot is the screen with secrets masked.
func redactedSnapshot(ctx context.Context, s *session.Session, at session.Moment, hide *redact.Redactor, scrollback int) (*wire.Snapshot, error) {
	shot, err := s.Snapshot(ctx, at, scrollback)
	if err != nil {
		return nil, err
	}
	term, hide, err := pastWithSecrets(ctx, s, shot.Seq, hide)
	if err != nil {
		return nil, err
	}
	shot.Screen = screen.Capture(film.Redacted(term, hide), scrollback)
	return shot, nil
}

func (a *app) putSnapshot(ans snapshotAnswer) error {
	return a.answer(ans, func(w io.Writer) {
		if ans.Format == "ansi" {
			w = a.stdout // den's own escapes, around text without any
		}
		printSnapshot(w, ans)
		if strings.Contains(ans.Question, "\n") { // a menu: the text need not show which line is chosen
			fmt.Fprintf(a.stderr, "it asks:\n%s\n", ans.Question)
		}
	})
}

// keepSnapshot writes the artifact, unless it is there: at one seq, the same
// options always give the same answer.
func keepSnapshot(d home.Dir, ans snapshotAnswer) error {
	if _, err := os.Stat(ans.Artifact); err == nil {
		return nil
	}
	ans.Frozen, ans.Question = false, "" // what is so now: at that seq it need not have been
	var kept bytes.Buffer
	if err := plainjson.Encode(&kept, ans, ""); err != nil {
		return err
	}
	return d.SaveArtifact(ans.Artifact, home.Artifact{Kind: "snapshot", Seq: ans.Seq, ScreenHash: ans.ScreenHash}, kept.Bytes())
}

// artifactName returns a name that differs for different options at one seq.
func artifactName(seq uint64, o snapshotOptions) string {
	if o.scrollback == "0" {
		return fmt.Sprintf("snapshot-%d-%s.json", seq, o.format)
	}
	return fmt.Sprintf("snapshot-%d-%s-%s.json", seq, o.format, o.scrollback)
}

func answerFor(name string, shot *wire.Snapshot, format string) snapshotAnswer {
	s, ans := shot.Screen, describe(name, shot.Plain(), format)
	switch format {
	case "json":
		setUnlessEmpty(&ans.Cells, s.Lines)
		setUnlessEmpty(&ans.Scrollback, s.Scrollback)
		setUnlessEmpty(&ans.Images, s.WithoutPictures().Images)
	case "ansi":
		ans.Text = new(s.ANSI())
	case "html":
		ans.Text = new(s.HTML())
	default:
		ans.Text = new(s.PlainText())
	}
	return ans
}

// describe is the answer without what the screen shows.
func describe(name string, shot wire.PlainSnapshot, format string) snapshotAnswer {
	s := shot.Screen
	return snapshotAnswer{
		Session: name, Seq: shot.Seq, Cols: s.Cols, Rows: s.Rows, Cursor: s.Cursor, Format: format,
		Title: s.Title, AltScreen: s.AltScreen, Mouse: s.Mouse, ScreenHash: s.Hash, Frozen: shot.Frozen,
	}
}

func printSnapshot(w io.Writer, ans snapshotAnswer) {
	if ans.Text != nil {
		fmt.Fprintln(w, *ans.Text)
		return
	}
	_ = plainjson.Encode(w, ans, "  ") // to stdout: as good as Fprintln
}

func parseScrollback(s string) (int, error) {
	if s == "all" {
		return -1, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fault.Errorf(fault.Usage, "--scrollback is a number of lines or all, not '%s'", s)
	}
	return n, nil
}

func (a *app) historyCmd() *cobra.Command {
	var n int
	cmd := a.onSession(&cobra.Command{
		Use:     "history [SESSION]",
		Short:   "Print the last lines, scrollback included",
		Long:    "Print the last N lines of the session, scrollback included. Blank lines below the text are not\ncounted.",
		Example: "  den history work\n  den history -n 100 work",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		if n < 1 {
			return fault.Errorf(fault.Usage, "-n is at least 1")
		}
		shot, err := s.Snapshot(ctx, session.Now(), n)
		if err != nil {
			return err
		}
		lines := strings.Split(shot.Screen.PlainText(), "\n")
		lines = lines[max(0, len(lines)-n):]
		return a.answer(map[string]any{"seq": shot.Seq, "lines": lines}, func(w io.Writer) {
			for _, l := range lines {
				fmt.Fprintln(w, l)
			}
		})
	})
	cmd.Flags().IntVarP(&n, "lines", "n", 25, "print `N` lines")
	return cmd
}

func (a *app) watchCmd() *cobra.Command {
	return a.onSession(&cobra.Command{
		Use:   "watch [SESSION]",
		Short: "Follow a session's output as plain lines",
		Long: `Print what a session shows, line by line as lines are finished, without control
sequences and without the intermediate states of progress bars. It follows the event log:
it never disturbs the session, and works for one that is over. For full-screen programs use
'den attach --read-only'.`,
		Example: "  den watch build",
	}, 0, func(ctx context.Context, s *session.Session, _ []string) error {
		m, err := s.Dir.Inspect()
		if err != nil {
			return err
		}
		term := vt.New(vt.Config{Cols: m.Cols, Rows: m.Rows, Scrollback: replay.Scrollback})
		lines := replay.NewLines(term, func(line string) error {
			return a.answer(map[string]string{"line": line}, func(w io.Writer) { fmt.Fprintln(w, line) })
		})
		if err := s.Follow(ctx, 0, lines.Apply); err != nil {
			return err
		}
		return lines.Finish()
	})
}

// redactOptions say what screens, pictures and recordings must not show.
type redactOptions struct {
	expressions []string
	tokens      bool
}

func (o *redactOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.expressions, "redact", nil, "hide what `REGEX` matches, or only its groups; repeatable")
	f.BoolVar(&o.tokens, "redact-tokens", false, "hide common tokens: of GitHub, OpenAI, Anthropic, AWS, Slack, JWTs, private keys")
}

func (o *redactOptions) redactor() (*redact.Redactor, error) {
	return redact.New(o.expressions, o.tokens)
}

// pastWithSecrets is the terminal after event seq, from the log: it knows the
// rows above the screen and which rows are wrapped. The redactor that it
// returns also knows the secrets of which the screen shows only a part.
func pastWithSecrets(ctx context.Context, s *session.Session, seq uint64, hide *redact.Redactor) (*vt.Terminal, *redact.Redactor, error) {
	log, err := eventlog.Open(s.Dir.Log())
	if err != nil {
		return nil, nil, err
	}
	if hide, err = film.Learn(ctx, log, hide); err != nil {
		return nil, nil, err
	}
	past, err := s.Replay(ctx, session.AtSeq(seq))
	if err != nil {
		return nil, nil, err
	}
	return past.Terminal, hide, nil
}
