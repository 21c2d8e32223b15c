package steps

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/session"
	"den/internal/session/cell"
	"den/internal/session/wire"
)

// DefaultTimeout is how long a step waits that does not say.
const DefaultTimeout = 30 * time.Second

// Runner does steps in one session. It is for one goroutine.
type Runner struct {
	Session *session.Session
	// Timeout, when not 0, is that of steps that do not say.
	Timeout    time.Duration
	PictureDir string // where pictures are, or "": where the caller is
	Painter    Painter
	baseline   uint64 // the seq of the last input step
	asked      string // what the last cell asked, and nobody has answered; or ""
}

// Result is what a step has found.
type Result struct {
	Seq      uint64           `json:"seq,omitempty"`
	Baseline uint64           `json:"baseline,omitempty"`
	Wait     *wire.WaitResult `json:"wait,omitempty"`
	Cell     *cell.Result     `json:"cell,omitempty"`
	Diff     []DiffRow        `json:"diff,omitempty"`    // of a screen that is another one
	Picture  *PictureDiff     `json:"picture,omitempty"` // of one that looks otherwise
	Screen   *wire.Snapshot   `json:"-"`                 // of a snapshot, and of a screen that is another one
}

// Run does one step. It fails with what the verb of the command line fails with.
func (b *Runner) Run(ctx context.Context, s *Step) (r Result, err error) {
	switch {
	case s.Wait != nil:
		err = b.wait(ctx, s.Wait, &r)
		return r, err
	case s.Snapshot != nil:
		r.Screen, err = b.Session.Snapshot(ctx, session.Now(), s.Snapshot.Scrollback)
		if err == nil {
			r.Seq = r.Screen.Seq
		}
		return r, err
	case s.Screen != nil:
		err = b.screen(ctx, s, &r)
		return r, err
	case s.Exit != nil:
		err = b.exit(ctx, s, &r)
		return r, err
	case s.Run != nil, s.Answer != nil:
		err = b.cell(ctx, s, &r)
		return r, err
	case s.Resize != nil:
		r.Seq, err = b.Session.Resize(ctx, s.Resize.Cols, s.Resize.Rows)
	default:
		r.Seq, err = b.Session.Input(ctx, wire.Input{Text: s.Type, Enter: s.Enter, Paste: s.Paste, Keys: s.Keys})
	}
	if err == nil {
		b.baseline, b.asked = r.Seq, ""
	}
	return r, err
}

// limit is how long a step may take.
func (b *Runner) limit(own *Duration) time.Duration {
	switch {
	case own != nil:
		return time.Duration(*own)
	case b.Timeout > 0:
		return b.Timeout
	}
	return DefaultTimeout
}

func (b *Runner) wait(ctx context.Context, w *Wait, r *Result) error {
	req, err := w.Request(b.baseline)
	if err != nil {
		return err
	}
	req.Timeout = b.limit(w.Timeout)
	r.Baseline = req.After
	if r.Wait, err = b.await(ctx, req); err != nil {
		return err
	}
	if err := unmet(&req, r.Wait); err != nil {
		return err
	}
	r.Seq = r.Wait.Seq
	return nil
}

// slow is how long an answer has taken at least that a busy host owes still. One
// that is gone is known at once.
const slow = 5 * time.Second

// await waits. A host that is too busy to answer is asked again for as long as the
// wait may take: on a loaded machine that is no failure of the program.
func (b *Runner) await(ctx context.Context, w wire.Wait) (*wire.WaitResult, error) {
	end := time.Now().Add(w.Timeout)
	for {
		begun := time.Now()
		r, err := b.Session.Wait(ctx, w)
		if fault.KindOf(err) != fault.Unreachable || ctx.Err() != nil || time.Since(begun) < slow || time.Now().After(end) {
			return r, err
		}
		w.Timeout = max(time.Until(end), time.Second)
	}
}

// unmet is the error that a wait's result stands for, or nil.
func unmet(w *wire.Wait, r *wire.WaitResult) error {
	if r.Matched {
		return nil
	}
	var names []string
	for _, name := range r.Unmet {
		for known, value := range map[string]*string{"text": w.Text, "regex": w.Regex, "gone": w.Gone} {
			if name == known && value != nil {
				name += " '" + *value + "'"
			}
		}
		names = append(names, name)
	}
	what := strings.Join(names, ", ")
	switch r.Status {
	case wire.WaitEnded:
		return fault.Errorf(fault.NotRunning, "the session is over and the condition did not come: %s", what)
	case wire.WaitCommandEnded:
		return fault.Errorf(fault.Timeout, "the command has ended%s and the condition did not come: %s", WithStatus(r.ExitCode), what)
	}
	return fault.Errorf(fault.Timeout, "the condition did not come: %s", what)
}

// WithStatus says with which status a command has ended, if that is known.
func WithStatus(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf(" with status %d", *code)
}

func (b *Runner) cell(ctx context.Context, s *Step, r *Result) error {
	var res cell.Result
	var err error
	if s.Answer != nil {
		res, err = b.Session.Answer(ctx, s.Answer.input(), session.Run{Timeout: b.limit(s.Timeout), Question: b.asked})
	} else {
		res, err = b.Session.Run(ctx, session.Run{Code: *s.Run, Timeout: b.limit(s.Timeout)})
	}
	if err != nil {
		return err
	}
	r.Cell = &res
	b.asked = res.Question
	if rec, err := b.Session.Cells().Load(res.CellID); err == nil {
		r.Seq, b.baseline = rec.StartSeq, rec.StartSeq
	}
	return res.Err()
}

// exit waits until the program has ended, and compares how.
func (b *Runner) exit(ctx context.Context, s *Step, r *Result) error {
	var err error
	if r.Wait, err = b.await(ctx, wire.Wait{Exit: true, Timeout: b.limit(s.Timeout)}); err != nil {
		return err
	}
	if !r.Wait.Matched {
		return fault.Errorf(fault.Timeout, "the program has not ended")
	}
	r.Seq = r.Wait.Seq
	got := Exit{Signal: r.Wait.ExitSignal}
	if r.Wait.ExitCode != nil {
		got.Code = *r.Wait.ExitCode
	}
	want := *s.Exit
	if got.Signal != "" && want.Signal != "" {
		got.Code, want.Code = 0, 0
		want.Signal = "SIG" + strings.TrimPrefix(strings.ToUpper(want.Signal), "SIG")
	}
	if want.Signal == "" {
		got.Signal = "" // 128 and its number is also a status
	}
	if got != want {
		return fault.Errorf(fault.Internal, "the program ended %v, not %v", got, want)
	}
	return nil
}

// screen waits for a screen. Its text is checked by the host in every pass, so that
// none that stands for a moment is missed. How it looks is compared here, after
// each output.
func (b *Runner) screen(ctx context.Context, s *Step, r *Result) error {
	var picture []byte // the expected one
	if s.Screen.Picture != "" {
		var err error
		if picture, err = ReadPicture(s.Screen.PicturePath(b.PictureDir)); err != nil {
			return err
		}
	}
	end := time.Now().Add(b.limit(s.Timeout))
	req := wire.Wait{}
	if !s.Screen.pictureAlone() {
		expr := s.Screen.expression()
		req.Regex = &expr
	}
	for {
		req.Timeout = max(time.Until(end), time.Millisecond)
		w, err := b.await(ctx, req)
		if err != nil {
			return err
		}
		if w.Matched && req.Regex != nil && s.Screen.Styles == nil && picture == nil {
			r.Seq = w.Seq
			return nil
		}
		shot, err := b.Session.Snapshot(ctx, session.Now(), 0)
		if err != nil {
			return err
		}
		r.Seq = shot.Seq
		diff := s.Screen.Compare(&shot.Screen)
		other, err := b.comparePicture(s.Screen, &shot.Screen, picture)
		if err != nil {
			return err
		}
		if len(diff) == 0 && other == nil {
			return nil
		}
		if w.Matched {
			// The text is right and the looks are not, or the screen has moved on.
			// What comes next may change both, and may be blanks, a cursor or an
			// image, which no text tells.
			if w, err = b.await(ctx, wire.Wait{After: shot.Seq, Timeout: max(time.Until(end), time.Millisecond)}); err != nil {
				return err
			}
		}
		if !w.Matched {
			r.Diff, r.Picture, r.Screen = diff, other, shot
			return differs(w, diff, other, s.Screen.Tolerance)
		}
	}
}

// comparePicture returns how the picture of the screen differs from the expected
// one, or nil.
func (b *Runner) comparePicture(s *Screen, shot *screen.Snapshot, want []byte) (*PictureDiff, error) {
	if want == nil {
		return nil, nil
	}
	got, err := b.Painter.Draw(s, shot)
	if err != nil {
		return nil, err
	}
	d, err := ComparePictures(want, got, s.Tolerance)
	if d != nil {
		d.File = s.Picture
	}
	return d, err
}

func differs(w *wire.WaitResult, diff []DiffRow, picture *PictureDiff, may Tolerance) error {
	n := 0
	for _, d := range diff {
		if !d.Same {
			n++
		}
	}
	var what []string
	switch {
	case n == 1:
		what = append(what, "1 row differs")
	case n > 1:
		what = append(what, fmt.Sprintf("%d rows differ", n))
	}
	switch {
	case picture == nil:
	case picture.Resized:
		what = append(what, "the picture has another size")
	default:
		what = append(what, fmt.Sprintf("%s of the picture's pixels differ, and %v may", picture.share(), may))
	}
	err := "the screen is another one: " + strings.Join(what, "; ")
	if w.Status == wire.WaitEnded {
		return fault.Errorf(fault.NotRunning, "%s, and the session is over", err)
	}
	return fault.Errorf(fault.Timeout, "%s", err)
}

// Rested waits until the screen has stood still for so long, and returns it.
func (b *Runner) Rested(ctx context.Context, still time.Duration) (*screen.Snapshot, error) {
	// A session that is over stands still, which a wait cannot prove.
	if _, err := b.await(ctx, wire.Wait{Stable: still, Timeout: b.limit(nil)}); err != nil {
		return nil, err
	}
	shot, err := b.Session.Snapshot(ctx, session.Now(), 0)
	if err != nil {
		return nil, err
	}
	return &shot.Screen, nil
}
