package script

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/steps"
)

// still is how long a screen must stand to be taken as the new expectation.
const still = time.Second

// killGrace is how long a program may take to end after each signal once its
// script is over.
const killGrace = 500 * time.Millisecond

// Player plays scripts, each in a session of its own.
type Player struct {
	Root    home.Home // for the sessions
	Options session.Options
	Environ []string // of the programs, but for what scripts set
	Dir     string   // of the programs whose script has none
	Command []string // instead of the scripts' own, or nil
	Timeout time.Duration
	// Update takes what comes as the new expectation.
	Update bool
	// Styles has the looks of screens in new expectations.
	Styles bool
	// Hide, or nil, covers what no picture may show.
	Hide *redact.Redactor
}

// Outcome is what became of a script.
type Outcome struct {
	Failure *Failure // or nil
	// Changed are the steps with new expectations, by their number.
	Changed map[int]steps.Step
	// Pictures are the new PNGs, by their path.
	Pictures map[string][]byte
}

// Failure says where a script failed, and why.
type Failure struct {
	Step int // from 0, or -1: it did not begin
	Line int
	Kind string
	Err  error
	Diff []steps.DiffRow // of a screen
	// Picture, or nil, is how the screen's picture is another one.
	Picture *steps.PictureDiff
}

func (f *Failure) Error() string {
	if f.Step < 0 {
		return f.Err.Error()
	}
	return fmt.Sprintf("%s: %v", f.Kind, f.Err)
}

func (f *Failure) Unwrap() error { return f.Err }

// Play plays a script whose variables have their values. dir is that of its file.
// The session is over when it returns, and failed is called with its recording
// before, if it failed.
func (p *Player) Play(ctx context.Context, s *Script, dir string, failed func(*eventlog.Log) error) (o Outcome, err error) {
	live, err := p.start(ctx, s, dir)
	if err != nil {
		o.Failure = &Failure{Step: -1, Err: err}
		return o, ctx.Err()
	}
	b := &play{
		Player: p, script: s, changed: map[int]steps.Step{}, expected: map[string][]byte{}, pictures: map[string][]byte{},
		Runner: steps.Runner{Session: live, Timeout: p.Timeout, PictureDir: dir, Painter: steps.Painter{Hide: p.Hide}},
	}
	o.Failure = b.run(ctx)
	o.Changed, o.Pictures = b.changed, b.pictures
	// Whatever became of it, its program must not stay.
	_, err = live.Kill(context.WithoutCancel(ctx), killGrace)
	if fault.KindOf(err) == fault.NotRunning {
		err = nil
	}
	if ctx.Err() != nil {
		return o, errors.Join(ctx.Err(), err)
	}
	if o.Failure != nil && failed != nil {
		log, lerr := eventlog.Open(live.Dir.Log())
		if lerr == nil {
			lerr = failed(log)
		}
		err = errors.Join(err, lerr)
	}
	return o, err
}

func (p *Player) start(ctx context.Context, s *Script, dir string) (*session.Session, error) {
	spec := home.Spec{
		Unnamed: true, Command: s.Command, Cwd: p.Dir, Term: s.Term, Cols: s.Cols, Rows: s.Rows,
		RecordInput: home.RecordAll, LogLimit: session.DefaultLogLimit,
	}
	if len(s.Vars) > 0 {
		spec.RecordInput = home.RecordAuto
	}
	if len(p.Command) > 0 {
		spec.Command = p.Command
	}
	if len(spec.Command) == 0 {
		return nil, fault.Errorf(fault.Usage, "the script has no command, and none is given")
	}
	if spec.Term == "" {
		spec.Term = session.DefaultTerm
	}
	if spec.Cols == 0 {
		spec.Cols = session.DefaultCols
	}
	if spec.Rows == 0 {
		spec.Rows = session.DefaultRows
	}
	if s.Cwd != "" {
		spec.Cwd = s.Cwd
		if !filepath.IsAbs(s.Cwd) {
			spec.Cwd = filepath.Join(dir, s.Cwd)
		}
	}
	spec.Env = append(session.WithoutTerminal(p.Environ), session.TerminalEnv(p.Root, spec.Term, spec.Cwd, p.Options.Version)...)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		spec.Env = append(spec.Env, name+"="+s.Env[name])
	}
	live, _, err := session.Create(ctx, p.Root, spec, p.Options)
	return live, err
}

// play is one play of a script.
type play struct {
	*Player
	steps.Runner
	script   *Script
	changed  map[int]steps.Step
	expected map[string][]byte // pictures that were looked at, by their path
	pictures map[string][]byte // those that are new
	shown    string            // the last screen that was expected
}

func (b *play) run(ctx context.Context) *Failure {
	all := b.script.Steps
	for i := range all {
		var r steps.Result
		var err error
		if b.Update {
			r, err = b.update(ctx, i)
		} else {
			r, err = b.Run(ctx, &all[i].Step)
		}
		if err == nil || fault.KindOf(err) == fault.Waiting && i+1 < len(all) && all[i+1].Answer != nil {
			continue
		}
		f := &Failure{Step: i, Line: all[i].Line, Kind: all[i].Kind(), Err: err, Diff: r.Diff, Picture: r.Picture}
		if f.Diff == nil && f.Picture == nil && ctx.Err() == nil {
			f.Diff = b.missed(ctx, i)
		}
		f.Diff = b.untold(f.Diff)
		return f
	}
	return nil
}

// missed compares the screen with the next one that was expected: it shows more
// than the name of a condition that did not come.
func (b *play) missed(ctx context.Context, i int) []steps.DiffRow {
	for _, next := range b.script.Steps[i+1:] {
		if next.Screen == nil {
			if next.Wait != nil || next.Exit != nil {
				continue
			}
			return nil
		}
		shot, err := b.Session.Snapshot(ctx, session.Now(), 0)
		if err != nil {
			return nil // Best effort: the failure itself is told.
		}
		return next.Screen.Compare(&shot.Screen)
	}
	return nil
}

// update runs a step and takes what comes as what is expected.
func (b *play) update(ctx context.Context, i int) (steps.Result, error) {
	step := &b.script.Steps[i].Step
	switch {
	case step.Wait != nil && b.screenBehind(i):
		w := *step.Wait
		w.Text, w.Regex = nil, nil
		if !w.Asks() {
			return steps.Result{}, nil // the screen is waited for
		}
		return b.Run(ctx, &steps.Step{Wait: &w})
	case step.Screen != nil:
		shot, err := b.Rested(ctx, still)
		if err != nil {
			return steps.Result{}, err
		}
		changed := *step
		if len(step.Screen.Compare(shot)) > 0 || b.Styles && step.Screen.Styles == nil {
			changed.Screen = b.hidden(step.Screen.Updated(shot, b.Styles))
			b.changed[i] = changed
		}
		if err := b.updatePicture(changed.Screen, shot); err != nil {
			return steps.Result{}, err
		}
		if i > 0 {
			b.updateWait(i-1, shot, changed.Screen)
		}
		b.shown = shot.Text
		return steps.Result{}, nil
	case step.Exit != nil:
		r, err := b.Run(ctx, step)
		if err != nil && r.Wait != nil && r.Wait.Matched && r.Wait.ExitCode != nil {
			changed := *step
			changed.Exit = &steps.Exit{Code: *r.Wait.ExitCode, Signal: r.Wait.ExitSignal}
			b.changed[i], err = changed, nil
		}
		return r, err
	}
	return b.Run(ctx, step)
}

// hidden leaves open what must not stand in a file.
func (b *play) hidden(s *steps.Screen) *steps.Screen {
	var rows []string
	for i := range s.Rows {
		rows = append(rows, s.Rows[i].Text)
	}
	for y, parts := range secretsOf(b.Hide, rows) {
		if expr := withOpen(rows[y], parts); expr != "" {
			s.Rows[y] = steps.Row{Regex: expr}
		}
	}
	return s
}

// untold is a difference without what must not be told of the screen.
func (b *play) untold(diff []steps.DiffRow) []steps.DiffRow {
	var rows []string
	for i := range diff {
		rows = append(rows, diff[i].Got)
	}
	for y, parts := range secretsOf(b.Hide, rows) {
		slices.SortFunc(parts, func(a, b part) int { return b.from - a.from })
		for _, p := range parts {
			if got := diff[y].Got; p.to <= len(got) {
				diff[y].Got = got[:p.from] + strings.Repeat(string(redact.Mask), utf8.RuneCountInString(got[p.from:p.to])) + got[p.to:]
			}
		}
	}
	return diff
}

// secretsOf finds secrets in each of the rows of a screen, also those that break
// between two.
func secretsOf(hide *redact.Redactor, rows []string) [][]part {
	all := make([][]part, len(rows))
	for y, row := range rows {
		all[y] = secretParts(hide.Spans([]byte(row)))
	}
	spans := hide.Spans([]byte(strings.Join(rows, "")))
	begin := 0
	for y, row := range rows {
		for _, sp := range spans {
			p := part{max(0, sp.From-begin), min(len(row), sp.To-begin), ".+"}
			if p.from < p.to && (sp.From < begin || sp.To > begin+len(row)) {
				all[y] = append(all[y], p)
			}
		}
		begin += len(row)
	}
	return all
}

// updatePicture takes the screen's picture as the expected one, unless it is.
func (b *play) updatePicture(s *steps.Screen, shot *screen.Snapshot) error {
	if s.Picture == "" {
		return nil
	}
	path := s.PicturePath(b.PictureDir)
	got, err := b.Painter.Draw(s, shot)
	if err != nil {
		return err
	}
	want, found := b.expected[path]
	if !found {
		want, err = steps.ReadPicture(path)
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Usage: // there is none, or it cannot be read
			want = nil
		default:
			if err != nil {
				return err
			}
		}
	}
	if want != nil {
		d, err := steps.ComparePictures(want, got, s.Tolerance)
		switch {
		case err != nil:
			return err
		case d == nil:
			b.expected[path] = want
			return nil
		case found:
			return fault.Errorf(fault.Usage, "two screens look different and name the same picture: %s", s.Picture)
		}
	}
	b.expected[path], b.pictures[path] = got, got
	return nil
}

func (b *play) screenBehind(i int) bool {
	return i+1 < len(b.script.Steps) && b.script.Steps[i+1].Screen != nil
}

// updateWait has a wait before a screen wait for what the screen shows now.
func (b *play) updateWait(i int, shot *screen.Snapshot, expected *steps.Screen) {
	step := b.script.Steps[i].Step
	if step.Wait == nil || step.Wait.Text == nil || strings.Contains(shot.Text, *step.Wait.Text) {
		return
	}
	w := *step.Wait
	w.Text = nil
	for _, row := range slices.Backward(expected.Rows) {
		text := strings.TrimSpace(row.Text) // "" of rows that are open
		if text != "" && !strings.Contains(b.shown, text) && (w.Text == nil || !hasDigits(text)) {
			if w.Text = &text; !hasDigits(text) {
				break
			}
		}
	}
	if !w.Asks() {
		w.Ready = true
	}
	step.Wait = &w
	b.changed[i] = step
}

// hasDigits tells texts that may be times.
func hasDigits(text string) bool { return strings.ContainsAny(text, "0123456789") }
