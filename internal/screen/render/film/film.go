// Package film turns an event log into a recording for people: a cast, a GIF, a
// video or a transcript.
//
// All formats are made by replay, in one goroutine that reads the log from its
// beginning. A film has its own clock, derived from the recorded times. Frames
// are taken at a bounded rate, and only what changed is drawn. Secrets are
// redacted on the screen before it is drawn. A cast under redaction is made of
// such screens too; see mirroredCast. An interrupted export leaves no partial file: the caller writes to a
// temporary file and renames it.
package film

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/render/redact"
)

// Format is a kind of recording.
type Format string

// The formats.
const (
	Cast  Format = "cast"  // asciicast v3
	Cast2 Format = "cast2" // asciicast v2
	GIF   Format = "gif"
	WebM  Format = "webm"
	MP4   Format = "mp4"
	Text  Format = "text"
)

// Formats lists all.
var Formats = []Format{Cast, Cast2, GIF, WebM, MP4, Text}

// Extension returns the file name extension of the format.
func (f Format) Extension() string {
	switch f {
	case Cast2:
		return "cast"
	case Text:
		return "txt"
	}
	return string(f)
}

// Timing says how the film's clock runs.
type Timing string

// The timings.
const (
	Recorded    Timing = "recorded"
	Accelerated Timing = "accelerated" // no pause is longer than 0.4 s
	Max         Timing = "max"         // no pause is longer than a frame
)

// Options say what goes into a film and how fast it runs.
type Options struct {
	Format    Format
	Timing    Timing  // "" = Recorded
	Speed     float64 // 0 = 1
	IdleLimit time.Duration
	From, To  time.Duration // since the session's start; To 0 = to the end
	Render    render.Options
	Redact    *redact.Redactor // or nil
	Title     string           // of the whole, in videos
	// Progress is called now and then with the progress of the film; or nil.
	Progress func(done, total time.Duration)
}

// Result is what a film has become.
type Result struct {
	Duration time.Duration
	Frames   int     // pictures; 0 for text and casts
	Missing  []error // what the log no longer has, or has damaged
}

// Write makes a film of a log and writes it to f, which must be empty and is
// left open.
func Write(ctx context.Context, f *os.File, l *eventlog.Log, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	hide, err := Learn(ctx, l, o.Redact)
	if err != nil {
		return nil, err
	}
	m := &maker{ctx: ctx, log: l, o: o, hide: hide, out: f}
	switch o.Format {
	case Cast, Cast2:
		err = m.cast()
	case Text:
		err = m.text()
	case GIF:
		err = m.gif()
	default:
		err = m.video()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &m.result, nil
}

// maker makes one film.
type maker struct {
	ctx    context.Context
	log    *eventlog.Log
	o      Options
	hide   *redact.Redactor // what the options ask for and the log has taught; or nil
	out    *os.File
	result Result
	until  uint64 // the last event that belongs to the film; 0 = all
}

func (o *Options) check() error {
	if o.Timing == "" {
		o.Timing = Recorded
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	var names []string
	known := false
	for _, f := range Formats {
		names = append(names, string(f))
		known = known || f == o.Format
	}
	switch {
	case !known:
		return fault.Errorf(fault.Usage, "format '%s': %s", o.Format, strings.Join(names, ", "))
	case o.Timing != Recorded && o.Timing != Accelerated && o.Timing != Max:
		return fault.Errorf(fault.Usage, "timing '%s': recorded, accelerated or max", o.Timing)
	case !(o.Speed > 0 && o.Speed <= 1000):
		return fault.Errorf(fault.Usage, "speed %v: above 0, and at most 1000", o.Speed)
	case o.IdleLimit < 0:
		return fault.Errorf(fault.Usage, "idle limit %v: it cannot be negative", o.IdleLimit)
	case o.To > 0 && o.To <= o.From:
		return fault.Errorf(fault.Usage, "the film ends at %v, before it begins at %v", o.To, o.From)
	}
	return nil
}

// plain reports that the log goes into a cast as it is.
func (o *Options) plain() bool {
	return o.Timing == Recorded && o.Speed == 1 && o.IdleLimit == 0 && o.From == 0 && o.To == 0 && o.Redact == nil
}

func (m *maker) progress(done, total time.Duration) {
	if m.o.Progress != nil {
		m.o.Progress(done, total)
	}
}

// writeError says what could not be written.
func writeError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", what, err)
}
