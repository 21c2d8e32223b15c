package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// CastOptions say what goes into a cast made from a log.
type CastOptions struct {
	Input bool // what was typed, too; it may hold secrets
}

// WriteCast2 writes the log as one asciicast v2 file, for players without
// support for v3. The first repaint kept is its first event. Invalid UTF-8
// becomes U+FFFD, and characters that were split between two events are
// joined.
//
// It returns what is missing in the log; the cast repaints after each gap.
func WriteCast2(w io.Writer, l *Log, o CastOptions) (missing []error, err error) {
	return writeCast(w, l, o, 2)
}

// WriteCast3 is WriteCast2 for asciicast v3.
func WriteCast3(w io.Writer, l *Log, o CastOptions) (missing []error, err error) {
	return writeCast(w, l, o, 3)
}

type header2JSON struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp,omitempty"`
	Command   string            `json:"command,omitempty"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

func writeCast(out io.Writer, l *Log, o CastOptions, version int) (missing []error, err error) {
	h, err := l.Header()
	if err != nil {
		return nil, err
	}
	c := caster{out: bufio.NewWriterSize(out, 64<<10), version: version, input: o.Input}
	c.header(h)
	for ev, err := range l.Play() {
		switch {
		case err == nil:
			c.event(ev)
		case Missing(err):
			missing = append(missing, err)
		default:
			return missing, err
		}
	}
	c.finish()
	return missing, c.flush()
}

// caster writes one cast.
type caster struct {
	out     *bufio.Writer
	version int
	input   bool

	begun bool
	start time.Duration // the log's time at which the cast begins
	last  time.Duration // of the event written last
	carry []byte        // the beginning of a character
	line  []byte
	err   error
}

func (c *caster) header(h Header) {
	stamp := max(h.Timestamp.Unix(), 0)
	env := map[string]string{}
	for k, v := range h.Env {
		env[k] = v
	}
	var v any
	if c.version == 2 {
		if h.Term != "" {
			env["TERM"] = h.Term
		}
		v = header2JSON{2, h.Cols, h.Rows, stamp, h.Command, h.Title, env}
	} else {
		v = headerJSON{
			Version: 3, Term: termJSON{h.Cols, h.Rows, h.Term}, Timestamp: json.Number(fmt.Sprint(stamp)),
			Command: h.Command, Title: h.Title, Env: env,
		}
	}
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	c.note(enc.Encode(v))
}

func (c *caster) event(ev Event) {
	if !c.begun {
		c.begun = true
		c.start, c.last = ev.Time, ev.Time
		if ev.Repaint && ev.Code == Resize {
			return // the header has it
		}
	}
	if out, ok := ev.Output(); ok {
		c.output(ev.Time, out)
		return
	}
	switch ev.Code {
	case Resize, Mark:
		c.write(ev.Time, ev.Code, ev.Data)
		if ev.Repaint {
			c.carry = c.carry[:0]
			c.write(ev.Time, Output, []byte("\x1bc")) // a fresh terminal
		}
	case Input, InputBytes:
		if c.input {
			c.write(ev.Time, Input, bytes.ToValidUTF8(ev.Data, []byte("\uFFFD")))
		}
	case Exit:
		if c.version == 3 {
			c.write(ev.Time, ev.Code, ev.Data)
		}
	}
}

// output writes text. An incomplete character at its end is kept for the next
// call.
func (c *caster) output(t time.Duration, p []byte) {
	if len(c.carry) > 0 {
		p = append(c.carry, p...)
	}
	whole := UTF8Prefix(p)
	c.write(t, Output, bytes.ToValidUTF8(p[:whole], []byte("\uFFFD")))
	c.carry = append([]byte(nil), p[whole:]...)
}

// finish writes an incomplete character that was kept.
func (c *caster) finish() {
	if len(c.carry) > 0 {
		c.write(c.last, Output, []byte("\uFFFD"))
	}
}

func (c *caster) write(t time.Duration, code string, data []byte) {
	at := t - c.start
	if c.version == 3 {
		at = t - c.last
	}
	c.last = t
	c.line = appendText(c.line[:0], at.Microseconds(), code, data)
	_, err := c.out.Write(c.line)
	c.note(err)
}

func (c *caster) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *caster) flush() error {
	c.note(c.out.Flush())
	if c.err != nil {
		return fmt.Errorf("write cast: %w", c.err)
	}
	return nil
}
