// Package steps reads what is to be done in a session, one step after the other,
// and does it.
package steps

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/wire"
)

// A Step is one action; exactly one of the verbs is set.
type Step struct {
	Type     *string   `json:"type,omitempty"`
	Enter    bool      `json:"enter,omitempty"`
	Paste    *string   `json:"paste,omitempty"`
	Keys     []string  `json:"keys,omitempty"`
	Resize   *Size     `json:"resize,omitempty"`
	Run      *string   `json:"run,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Wait     *Wait     `json:"wait,omitempty"`
	Screen   *Screen   `json:"screen,omitempty"`
	Exit     *Exit     `json:"exit,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Timeout  *Duration `json:"timeout,omitempty"` // of run, answer, screen and exit
}

// A Snapshot is a look at the screen.
type Snapshot struct {
	Scrollback int `json:"scrollback,omitempty"`
}

// Answer is an answer to what a cell asks: a text, or an object with keys.
type Answer struct {
	Text *string  `json:"-"`
	Keys []string `json:"keys,omitempty"`
}

// UnmarshalJSON reads "text" or {"keys":["Down","Enter"]}.
func (s *Answer) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, &s.Text)
	}
	type plain Answer // without this method
	if err := strictly(raw, (*plain)(s)); err != nil {
		return err
	}
	if len(s.Keys) == 0 {
		return errors.New("'answer' is a text or has keys")
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Answer) MarshalJSON() ([]byte, error) {
	if s.Text != nil {
		return marshal(*s.Text)
	}
	return marshal(map[string]any{"keys": s.Keys})
}

func (s *Answer) input() wire.Input {
	if s.Text != nil {
		return wire.Input{Text: s.Text, Enter: true}
	}
	return wire.Input{Keys: s.Keys}
}

// Size is that of a terminal, as "100x30".
type Size struct{ Cols, Rows int }

// UnmarshalJSON reads "COLSxROWS".
func (s *Size) UnmarshalJSON(raw []byte) error {
	var word string
	if err := json.Unmarshal(raw, &word); err != nil {
		return err
	}
	cols, rows, _ := strings.Cut(word, "x")
	var err1, err2 error
	s.Cols, err1 = strconv.Atoi(cols)
	s.Rows, err2 = strconv.Atoi(rows)
	if err1 != nil || err2 != nil || s.Cols < 1 || s.Rows < 1 {
		return fmt.Errorf("size '%s' is not COLSxROWS", word)
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (s Size) MarshalJSON() ([]byte, error) {
	return marshal(strconv.Itoa(s.Cols) + "x" + strconv.Itoa(s.Rows))
}

// Exit is how the program ends: a status, or a signal by name.
type Exit struct {
	Code   int
	Signal string // or ""
}

// UnmarshalJSON reads 3 or "SIGTERM".
func (e *Exit) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		if err := json.Unmarshal(raw, &e.Signal); err != nil || e.Signal == "" {
			return errors.New("'exit' is a status or the name of a signal")
		}
		return nil
	}
	return json.Unmarshal(raw, &e.Code)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (e Exit) MarshalJSON() ([]byte, error) {
	if e.Signal != "" {
		return marshal(e.Signal)
	}
	return marshal(e.Code)
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "by " + e.Signal
	}
	return fmt.Sprintf("with status %d", e.Code)
}

// Wait is the conditions of a wait.
type Wait struct {
	Text    *string  `json:"text,omitempty"`
	Regex   *string  `json:"regex,omitempty"`
	Gone    *string  `json:"gone,omitempty"`
	Cursor  *string  `json:"cursor,omitempty"`
	Changed *string  `json:"changed,omitempty"`
	Stable  Duration `json:"stable,omitempty"`
	Idle    Duration `json:"idle,omitempty"`
	Ready   bool     `json:"ready,omitempty"`
	Exit    bool     `json:"exit,omitempty"`
	// Early says that what came before the last input counts, too.
	Early   bool      `json:"early,omitempty"`
	Timeout *Duration `json:"timeout,omitempty"`
}

// Asks reports whether there is a condition.
func (w *Wait) Asks() bool { return *w != Wait{Early: w.Early, Timeout: w.Timeout} }

// Duration is a duration as flags take it, or a number of seconds.
type Duration time.Duration

// UnmarshalJSON reads "300ms", "5" or 5.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	v, err := ParseDuration(string(bytes.Trim(raw, `"`)))
	*d = Duration(v)
	return err
}

// MarshalJSON writes what UnmarshalJSON reads.
func (d Duration) MarshalJSON() ([]byte, error) { return marshal(time.Duration(d).String()) }

// ParseDuration reads Go's form ("500ms") or bare seconds ("30", "0.5").
func ParseDuration(s string) (time.Duration, error) {
	v, err := time.ParseDuration(s)
	if err != nil {
		secs, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || !(secs <= 1e9) {
			return 0, fmt.Errorf("'%s' is not a duration such as 500ms, 30s or 30", s)
		}
		v = time.Duration(secs * float64(time.Second))
	}
	if v < 0 {
		return 0, fmt.Errorf("'%s' is negative", s)
	}
	return v, nil
}

// ParsePosition reads "ROW,COL".
func ParsePosition(s string) (*screen.Point, error) {
	r, c, _ := strings.Cut(s, ",")
	row, err1 := strconv.Atoi(strings.TrimSpace(r))
	col, err2 := strconv.Atoi(strings.TrimSpace(c))
	if err1 != nil || err2 != nil || row < 0 || col < 0 {
		return nil, fault.Errorf(fault.Usage, "position '%s' is not ROW,COL", s)
	}
	return &screen.Point{Row: row, Col: col}, nil
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// strictly decodes an object without fields that nobody knows.
func strictly(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// Parse reads steps: a JSON array, or objects one after the other.
func Parse(raw []byte) ([]Step, error) {
	var all []Step
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	array := bytes.HasPrefix(bytes.TrimSpace(raw), []byte("["))
	if array {
		if _, err := dec.Token(); err != nil { // the bracket, which is there
			return nil, fault.Errorf(fault.Usage, "steps are not understood: %w", err)
		}
	}
	for dec.More() {
		var s Step
		if err := dec.Decode(&s); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d is not understood: %w", len(all), PlainJSON(err))
		}
		all = append(all, s)
	}
	if err := endOfSteps(dec, array); err != nil {
		return nil, fault.Errorf(fault.Usage, "behind step %d: %w", len(all)-1, err)
	}
	if len(all) == 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "there are no steps"), "for example '[{\"run\":\"make\"},{\"snapshot\":{}}]'")
	}
	for i := range all {
		if err := all[i].Check(); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d: %w", i, err)
		}
	}
	return all, nil
}

// endOfSteps returns an error if anything follows: it would be ignored.
func endOfSteps(dec *json.Decoder, array bool) error {
	if array {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return errors.New("the array is not closed")
		} else if err != nil {
			return err
		}
	}
	var more json.RawMessage
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%.20s is not a part of the steps", more)
}

// PlainJSON rephrases an error of Go's JSON decoder for users.
func PlainJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is a %s, not an object", wrong.Value)
	}
	return fmt.Errorf("'%s' cannot be a %s", wrong.Field, wrong.Value)
}

// Kind names the step's verb.
func (s *Step) Kind() string {
	for name, set := range s.verbs() {
		if set {
			return name
		}
	}
	return ""
}

func (s *Step) verbs() map[string]bool {
	return map[string]bool{
		"type": s.Type != nil, "paste": s.Paste != nil, "keys": len(s.Keys) > 0, "resize": s.Resize != nil,
		"run": s.Run != nil, "answer": s.Answer != nil, "wait": s.Wait != nil, "screen": s.Screen != nil,
		"exit": s.Exit != nil, "snapshot": s.Snapshot != nil,
	}
}

// Check validates the step before anything is sent.
func (s *Step) Check() (err error) {
	n := 0
	for _, set := range s.verbs() {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("exactly one of type, paste, keys, resize, run, answer, wait, screen, exit and snapshot is needed")
	}
	if err := s.checkExtras(); err != nil {
		return err
	}
	chords := s.Keys
	if s.Answer != nil {
		chords = s.Answer.Keys
	}
	for _, k := range chords {
		if _, err := keys.Parse(k); err != nil {
			return err
		}
	}
	switch {
	case s.Wait != nil:
		_, err = s.Wait.Request(0)
	case s.Screen != nil:
		err = s.Screen.check()
	case s.Run != nil:
		*s.Run, err = session.Typable(*s.Run)
	}
	return err
}

// checkExtras returns an error for fields of another kind of step.
func (s *Step) checkExtras() error {
	switch {
	case s.Enter && s.Type == nil:
		return errors.New("'enter' belongs to type")
	case s.Timeout != nil && s.Run == nil && s.Answer == nil && s.Screen == nil && s.Exit == nil:
		return errors.New("'timeout' belongs to run and answer, screen and exit; that of a wait stands inside it")
	case s.Snapshot != nil && s.Snapshot.Scrollback < 0:
		return fmt.Errorf("'scrollback' is %d", s.Snapshot.Scrollback)
	}
	return nil
}

// Request turns the step into conditions with a baseline.
func (w *Wait) Request(after uint64) (req wire.Wait, err error) {
	req = wire.Wait{
		Text: w.Text, Regex: w.Regex, Gone: w.Gone, Changed: w.Changed,
		Stable: time.Duration(w.Stable), Idle: time.Duration(w.Idle), Ready: w.Ready, Exit: w.Exit,
		After: after, Timeout: DefaultTimeout, ByCommand: true,
	}
	if w.Timeout != nil {
		req.Timeout = time.Duration(*w.Timeout)
	}
	if w.Early {
		req.After = 0
	}
	if !w.Asks() {
		return req, errors.New("a wait needs a condition: text, regex, gone, cursor, changed, stable, idle, ready or exit")
	}
	if w.Regex != nil {
		_, err = regexp.Compile(*w.Regex)
	}
	if err == nil && w.Cursor != nil {
		req.Cursor, err = ParsePosition(*w.Cursor)
	}
	return req, err
}
