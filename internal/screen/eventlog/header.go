package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"den/internal/base/fault"
)

// Version is the version of den's own key in a header. Readers refuse newer ones.
const Version = 1

// maxElapsed, in microseconds, still fits a time.Duration.
const maxElapsed = math.MaxInt64 / 1000

// A Header says what was recorded: asciicast's own fields.
type Header struct {
	Cols, Rows int
	Term       string // the value of TERM
	Command    string
	Title      string
	Env        map[string]string
	Timestamp  time.Time // the wall clock when the segment began; a reader's result

	Raw []byte // the header line as read, with all that this build does not know
}

type headerJSON struct {
	Version   int               `json:"version"`
	Term      termJSON          `json:"term"`
	Timestamp json.Number       `json:"timestamp,omitempty"`
	Command   string            `json:"command,omitempty"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Den       *denJSON          `json:"den,omitempty"`
}

type termJSON struct {
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
	Type string `json:"type,omitempty"`
}

type denJSON struct {
	V       int    `json:"v"`
	Segment int    `json:"segment"`
	Seq     uint64 `json:"seq"`
	Elapsed int64  `json:"elapsed_us"`
	Repaint bool   `json:"repaint,omitempty"`
	Sum     string `json:"sum"`
}

// sum is a checksum of the numbers by which readers find events: a header that
// parses but is wrong would mislead them about other segments too.
func (d denJSON) sum(term termJSON) string {
	numbers := fmt.Sprint(d.V, d.Segment, d.Seq, d.Elapsed, d.Repaint, term.Cols, term.Rows)
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(numbers)))
}

// encodeHeader returns the header line with its newline.
func encodeHeader(h Header, now time.Time, den denJSON) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	term := termJSON{Cols: h.Cols, Rows: h.Rows, Type: h.Term}
	den.Sum = den.sum(term)
	err := enc.Encode(headerJSON{
		Version:   3,
		Term:      term,
		Timestamp: json.Number(fmt.Sprint(max(now.Unix(), 0))),
		Command:   h.Command,
		Title:     h.Title,
		Env:       h.Env,
		Den:       &den,
	})
	return b.Bytes(), err
}

// decodeHeader fills seg from a header line. An unknown version is
// fault.Protocol; other errors have no kind of their own.
func decodeHeader(line []byte, seg *Segment) error {
	var v struct {
		Version int `json:"version"`
		Den     *struct {
			V int `json:"v"`
		} `json:"den"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if v.Version < 1 {
		return errors.New("header: not of an asciicast")
	}
	if v.Version != 3 {
		return fault.Errorf(fault.Protocol, "header: asciicast version %d, this build reads version 3", v.Version)
	}
	if v.Den != nil && v.Den.V > Version {
		return fault.Hintf(fault.Errorf(fault.Protocol, "header: den log version %d, this build reads up to %d", v.Den.V, Version),
			"use the den that wrote it, or a newer one")
	}
	var h headerJSON
	if err := json.Unmarshal(line, &h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if h.Term.Cols < 1 || h.Term.Rows < 1 || h.Term.Cols > maxSide || h.Term.Rows > maxSide {
		return fmt.Errorf("header: terminal of %dx%d", h.Term.Cols, h.Term.Rows)
	}
	seg.Header = Header{
		Cols: h.Term.Cols, Rows: h.Term.Rows, Term: h.Term.Type,
		Command: h.Command, Title: h.Title, Env: h.Env,
		Raw: bytes.Clone(line),
	}
	if sec, err := h.Timestamp.Float64(); err == nil && sec > 0 {
		seg.Header.Timestamp = time.UnixMicro(int64(min(sec, 1e12) * 1e6))
	}
	if h.Den == nil {
		return nil
	}
	if h.Den.V < 1 || h.Den.Elapsed < 0 || h.Den.Elapsed > maxElapsed {
		return errors.New(`header: "den" makes no sense`)
	}
	if h.Den.Sum != h.Den.sum(h.Term) {
		return errors.New(`header: "den" does not match its sum`)
	}
	seg.numbered = true
	seg.Seq = h.Den.Seq
	seg.Elapsed = time.Duration(h.Den.Elapsed) * time.Microsecond
	seg.Repaint = h.Den.Repaint
	return nil
}
