package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/session"
	"den/internal/session/wire"
)

// step is one action; exactly one of the verbs is set.
type step struct {
	Type     *string       `json:"type"`
	Enter    bool          `json:"enter"`
	Paste    *string       `json:"paste"`
	Keys     []string      `json:"keys"`
	Run      *string       `json:"run"`
	Answer   *answerStep   `json:"answer"`
	Timeout  *jsonDuration `json:"timeout"` // of run and answer
	Wait     *waitStep     `json:"wait"`
	Snapshot *struct {
		Scrollback int `json:"scrollback"`
	} `json:"snapshot"`
}

// answerStep is an answer to what a cell asks: a text, or an object with keys.
type answerStep struct {
	Text *string  `json:"-"`
	Keys []string `json:"keys"`
}

// UnmarshalJSON reads "text" or {"keys":["Down","Enter"]}.
func (s *answerStep) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte(`"`)) {
		return json.Unmarshal(raw, &s.Text)
	}
	type plain answerStep // without this method
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode((*plain)(s)); err != nil {
		return err
	}
	if len(s.Keys) == 0 {
		return errors.New("'answer' is a text or has keys")
	}
	return nil
}

func (s *answerStep) input() wire.Input {
	if s.Text != nil {
		return wire.Input{Text: s.Text, Enter: true}
	}
	return wire.Input{Keys: s.Keys}
}

// waitStep is the conditions of a wait.
type waitStep struct {
	Text    *string       `json:"text"`
	Regex   *string       `json:"regex"`
	Gone    *string       `json:"gone"`
	Cursor  *string       `json:"cursor"`
	Changed *string       `json:"changed"`
	Stable  jsonDuration  `json:"stable"`
	Idle    jsonDuration  `json:"idle"`
	Ready   bool          `json:"ready"`
	Exit    bool          `json:"exit"`
	Timeout *jsonDuration `json:"timeout"`
}

// jsonDuration is a duration as flags take it, or a number of seconds.
type jsonDuration time.Duration

// UnmarshalJSON reads "300ms", "5" or 5.
func (d *jsonDuration) UnmarshalJSON(raw []byte) error {
	return (*duration)(d).Set(string(bytes.Trim(raw, `"`)))
}

func parseSteps(raw []byte) ([]step, error) {
	var steps []step
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	array := bytes.HasPrefix(bytes.TrimSpace(raw), []byte("["))
	if array {
		if _, err := dec.Token(); err != nil { // the bracket, which is there
			return nil, fault.Errorf(fault.Usage, "steps are not understood: %w", err)
		}
	}
	for dec.More() {
		var s step
		if err := dec.Decode(&s); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d is not understood: %w", len(steps), plainJSON(err))
		}
		steps = append(steps, s)
	}
	if err := endOfSteps(dec, array); err != nil {
		return nil, fault.Errorf(fault.Usage, "behind step %d: %w", len(steps)-1, err)
	}
	if len(steps) == 0 {
		return nil, fault.Hintf(fault.Errorf(fault.Usage, "there are no steps"), "for example '[{\"run\":\"make\"},{\"snapshot\":{}}]'")
	}
	for i := range steps {
		if err := steps[i].check(); err != nil {
			return nil, fault.Errorf(fault.Usage, "step %d: %w", i, err)
		}
	}
	return steps, nil
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

// plainJSON rephrases an error of Go's JSON decoder for users.
func plainJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it is a %s, not an object", wrong.Value)
	}
	return fmt.Errorf("'%s' cannot be a %s", wrong.Field, wrong.Value)
}

// kind names the step's verb.
func (s step) kind() string {
	for name, set := range s.verbs() {
		if set {
			return name
		}
	}
	return ""
}

func (s step) verbs() map[string]bool {
	return map[string]bool{
		"type": s.Type != nil, "paste": s.Paste != nil, "keys": len(s.Keys) > 0,
		"run": s.Run != nil, "answer": s.Answer != nil, "wait": s.Wait != nil, "snapshot": s.Snapshot != nil,
	}
}

// check validates the step before anything is sent.
func (s *step) check() (err error) {
	n := 0
	for _, set := range s.verbs() {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("exactly one of type, paste, keys, run, answer, wait and snapshot is needed")
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
		_, err = s.Wait.request(0)
	case s.Run != nil:
		*s.Run, err = session.Typable(*s.Run)
	}
	return err
}

// checkExtras returns an error for fields of another kind of step.
func (s *step) checkExtras() error {
	switch {
	case s.Enter && s.Type == nil:
		return errors.New("'enter' belongs to type")
	case s.Timeout != nil && s.Run == nil && s.Answer == nil:
		return errors.New("'timeout' belongs to run and answer; that of a wait stands inside it")
	case s.Snapshot != nil && s.Snapshot.Scrollback < 0:
		return fmt.Errorf("'scrollback' is %d", s.Snapshot.Scrollback)
	}
	return nil
}

// request turns the step into conditions with the batch's baseline.
func (w *waitStep) request(after uint64) (wire.Wait, error) {
	req := wire.Wait{
		Text: w.Text, Regex: w.Regex, Gone: w.Gone, Changed: w.Changed,
		Stable: time.Duration(w.Stable), Idle: time.Duration(w.Idle), Ready: w.Ready, Exit: w.Exit,
		After: after, Timeout: 30 * time.Second,
	}
	if w.Timeout != nil {
		req.Timeout = time.Duration(*w.Timeout)
	}
	if *w == (waitStep{Timeout: w.Timeout}) {
		return req, errors.New("a wait needs a condition: text, regex, gone, cursor, changed, stable, idle, ready or exit")
	}
	if w.Regex != nil {
		if _, err := regexp.Compile(*w.Regex); err != nil {
			return req, err
		}
	}
	if w.Cursor != nil {
		p, err := parsePosition(*w.Cursor)
		if err != nil {
			return req, err
		}
		req.Cursor = &p
	}
	return req, nil
}

// isSteps reports whether a word contains steps rather than a file name.
func isSteps(word string) bool {
	word = strings.TrimSpace(word)
	return strings.HasPrefix(word, "[") || strings.HasPrefix(word, "{")
}
