package film

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// cast writes an asciicast. Without anything to change the log itself is one.
func (m *maker) cast() error {
	if m.hide != nil {
		return m.mirroredCast()
	}
	if !m.o.plain() {
		return m.recast()
	}
	write := eventlog.WriteCast3
	if m.o.Format == Cast2 {
		write = eventlog.WriteCast2
	}
	for _, err := range m.takes() { // for the duration
		if err != nil {
			return err
		}
	}
	missing, err := write(m.out, m.log, eventlog.CastOptions{})
	m.result.Missing = missing
	return err
}

// recast writes a cast of a part of the log, or at another speed.
func (m *maker) recast() error {
	h, err := m.log.Header()
	if err != nil {
		return err
	}
	c := m.newCaster()
	var term *vt.Terminal // the screen before the asked part
	for t, err := range m.takes() {
		if err != nil {
			return err
		}
		if t.Before {
			if cols, rows, ok := t.Size(); ok && t.Repaint {
				term = vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: replay.Scrollback})
			} else {
				replay.Apply(term, t.Event)
			}
			continue
		}
		if !c.begun {
			if err := c.beginWith(h, term); err != nil {
				return writeError("cast", err)
			}
			if term == nil && t.Repaint {
				if cols, rows, ok := t.Size(); ok && cols == h.Cols && rows == h.Rows {
					continue // the header has it
				}
			}
		}
		if err := c.event(t); err != nil {
			return writeError("cast", err)
		}
	}
	if !c.begun {
		return errEmpty()
	}
	return writeError("cast", c.finish())
}

// castEvent is a line of a cast, without its data.
type castEvent struct {
	at   time.Duration
	code string
	data string // of all but output
}

type caster struct {
	out     *bufio.Writer
	version int
	hide    *redact.Redactor
	begun   bool
	last    time.Duration
	carry   []byte // the beginning of a character
}

func (m *maker) newCaster() *caster {
	c := &caster{out: bufio.NewWriterSize(m.out, 64<<10), version: 3, hide: m.hide}
	if m.o.Format == Cast2 {
		c.version = 2
	}
	return c
}

// begin writes the header.
func (c *caster) begin(h eventlog.Header, cols, rows int) error {
	c.begun = true
	return c.header(h, cols, rows)
}

// beginWith writes the header and, if the film begins in the middle, the screen.
func (c *caster) beginWith(h eventlog.Header, term *vt.Terminal) error {
	if term == nil {
		return c.begin(h, h.Cols, h.Rows)
	}
	cols, rows := term.Size()
	if err := c.begin(h, cols, rows); err != nil {
		return err
	}
	return c.write(castEvent{code: eventlog.Output}, term.Dump())
}

func (c *caster) header(h eventlog.Header, cols, rows int) error {
	env := map[string]string{}
	for k, v := range h.Env {
		env[k] = c.hide.Text(v)
	}
	v := map[string]any{"version": c.version}
	if stamp := h.Timestamp.Unix(); stamp > 0 {
		v["timestamp"] = stamp
	}
	for key, text := range map[string]string{"command": h.Command, "title": h.Title} {
		if text != "" {
			v[key] = c.hide.Text(text)
		}
	}
	if c.version == 2 {
		v["width"], v["height"] = cols, rows
		if h.Term != "" {
			env["TERM"] = h.Term
		}
	} else {
		term := map[string]any{"cols": cols, "rows": rows}
		if h.Term != "" {
			term["type"] = h.Term
		}
		v["term"] = term
	}
	if len(env) > 0 {
		v["env"] = env
	}
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func (c *caster) event(t take) error {
	if out, ok := t.Output(); ok {
		return c.write(castEvent{at: t.At, code: eventlog.Output}, out)
	}
	if err := c.other(t); err != nil || !t.Repaint {
		return err
	}
	// Behind something missing: a fresh terminal.
	return c.write(castEvent{at: t.At, code: eventlog.Output}, []byte("\x1bc"))
}

// other writes an event that is no output.
func (c *caster) other(t take) error {
	data := string(t.Data)
	switch t.Code {
	case eventlog.Exit:
		if c.version == 2 {
			return nil
		}
	case eventlog.Mark:
		data = c.hide.Text(data)
	}
	return c.write(castEvent{t.At, t.Code, data}, nil)
}

// write writes a line. A character that is cut waits for its rest.
func (c *caster) write(ev castEvent, data []byte) error {
	text := ev.data
	if ev.code == eventlog.Output {
		data = append(c.carry, data...)
		whole := eventlog.UTF8Prefix(data)
		text = string(bytes.ToValidUTF8(data[:whole], []byte("\uFFFD")))
		c.carry = bytes.Clone(data[whole:])
	}
	at := ev.at
	if c.version == 3 {
		at = ev.at - c.last
	}
	c.last = ev.at
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "[%.6f, %q, %s]\n", at.Seconds(), ev.code, line)
	return err
}

func (c *caster) finish() error {
	if len(c.carry) > 0 {
		c.carry = nil
		if err := c.write(castEvent{at: c.last, code: eventlog.Output}, []byte("\uFFFD")); err != nil {
			return err
		}
	}
	return c.out.Flush()
}
