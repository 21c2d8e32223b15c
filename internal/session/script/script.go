// Package script turns recorded sessions into scripts, and plays them.
//
// A script is a program to start, the steps of a batch, and the screens that are
// expected between them: see docs/testing-tuis.md.
package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"den/internal/base/fault"
	"den/internal/base/lazy"
	"den/internal/base/plainjson"
	"den/internal/session"
	"den/internal/session/steps"
)

// Version is that of the format.
const Version = 1

// Start is a script's first object: what it begins with.
type Start struct {
	Version int      `json:"den"`
	Command []string `json:"command,omitempty"`
	Cols    int      `json:"cols,omitempty"` // 0: that of a new session
	Rows    int      `json:"rows,omitempty"`
	Term    string   `json:"term,omitempty"`
	// Cwd is the program's directory, as seen from that of the script, or "": that
	// of the caller.
	Cwd string            `json:"cwd,omitempty"`
	Env map[string]string `json:"env,omitempty"`
	// Vars are names that stand for what no script holds: ${NAME} in a step.
	Vars []string `json:"vars,omitempty"`
}

// Script is a file that was read.
type Script struct {
	Start
	Steps []Step
}

// Step is a step, and where it stands.
type Step struct {
	steps.Step
	Line     int // from 1
	from, to int // in the file
	comments []string
}

var varName = lazy.Regexp{Expr: `^[A-Za-z_][A-Za-z0-9_]*$`}

// Parse reads a script. Lines that begin with # are comments.
func Parse(file []byte) (*Script, error) {
	raw := withoutComments(file)
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var s Script
	if err := s.parseStart(dec, raw); err != nil {
		return nil, err
	}
	for dec.More() {
		from := int(dec.InputOffset())
		from += len(raw[from:]) - len(bytes.TrimLeft(raw[from:], " \t\r\n"))
		step := Step{from: from, Line: 1 + bytes.Count(raw[:from], []byte("\n"))}
		err := dec.Decode(&step.Step)
		if err == nil {
			err = step.Check()
		}
		if err != nil {
			return nil, fault.Errorf(fault.Usage, "line %d: %w", step.Line, steps.PlainJSON(err))
		}
		step.to = int(dec.InputOffset())
		s.Steps = append(s.Steps, step)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.Errorf(fault.Usage, "behind the last step: this is not a step")
	}
	return &s, nil
}

func (s *Script) parseStart(dec *json.Decoder, raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return fault.Errorf(fault.Usage, "the script is empty")
	}
	var version struct {
		Den *int `json:"den"`
	}
	// Keys that are not known may be those of a newer version: first its number.
	if json.NewDecoder(bytes.NewReader(raw)).Decode(&version) != nil || version.Den == nil {
		return fault.Hintf(fault.Errorf(fault.Usage, `it does not begin with an object that has "den", the version of scripts`),
			`for example {"den":%d,"command":["bash"],"cols":80,"rows":24}; steps alone are for 'den batch'`, Version)
	}
	if *version.Den != Version {
		return fault.Errorf(fault.Protocol, "it is of version %d, and this den reads version %d", *version.Den, Version)
	}
	if err := dec.Decode(&s.Start); err != nil {
		return fault.Errorf(fault.Usage, "its first object: %w", steps.PlainJSON(err))
	}
	if s.Cols < 0 || s.Rows < 0 {
		return fault.Errorf(fault.Usage, "a terminal of %d columns and %d rows", s.Cols, s.Rows)
	}
	for _, name := range s.Vars {
		if !varName.Get().MatchString(name) {
			return fault.Errorf(fault.Usage, "'%s' is not the name of a variable", name)
		}
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fault.Errorf(fault.Usage, "'%s' is not the name of an environment variable", name)
		}
	}
	return nil
}

// withoutComments makes blanks of lines that begin with #, so that all else
// stays in its place. No line within a JSON value begins with one.
func withoutComments(file []byte) []byte {
	raw := bytes.Clone(file)
	for at := 0; at < len(raw); {
		end := len(raw)
		if n := bytes.IndexByte(raw[at:], '\n'); n >= 0 {
			end = at + n
		}
		if bytes.HasPrefix(bytes.TrimLeft(raw[at:end], " \t"), []byte("#")) {
			for i := at; i < end; i++ {
				raw[i] = ' '
			}
		}
		at = end + 1
	}
	return raw
}

// Write writes a script as Parse reads it, with the comments of its steps.
func (s *Script) Write(w io.Writer, comments ...string) error {
	var b bytes.Buffer
	for _, c := range comments {
		fmt.Fprintf(&b, "# %s\n", c)
	}
	if err := plainjson.Encode(&b, s.Start, ""); err != nil {
		return err
	}
	for i := range s.Steps {
		for _, c := range s.Steps[i].comments {
			fmt.Fprintf(&b, "# %s\n", c)
		}
		b.Write(encodeStep(&s.Steps[i].Step))
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// encodeStep is a step on one line, but for a screen, which has a line for each
// row.
func encodeStep(s *steps.Step) []byte {
	line := encode(s)
	if s.Screen == nil || len(s.Screen.Rows)+len(s.Screen.Styles) == 0 {
		return line
	}
	var b bytes.Buffer
	b.WriteString(`{"screen":`)
	encodeScreen(&b, s.Screen)
	if s.Timeout != nil {
		b.WriteString(`,"timeout":`)
		b.Write(encode(s.Timeout))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func encodeScreen(b *bytes.Buffer, s *steps.Screen) {
	if s.Styles == nil && s.Picture == "" {
		encodeRows(b, s.Rows)
		return
	}
	next := "{"
	key := func(name string) {
		b.WriteString(next + `"` + name + `":`)
		next = ","
	}
	if s.Rows != nil {
		key("rows")
		encodeRows(b, s.Rows)
	}
	if s.Styles != nil {
		key("styles")
		encodeRows(b, s.Styles)
	}
	if s.Picture != "" {
		key("picture")
		b.Write(encode(s.Picture))
	}
	if s.Tolerance > 0 {
		key("tolerance")
		b.Write(encode(s.Tolerance))
	}
	b.WriteByte('}')
}

func encodeRows[T any](b *bytes.Buffer, rows []T) {
	if len(rows) == 0 {
		b.WriteString("[]")
		return
	}
	b.WriteString("[\n")
	for i, r := range rows {
		b.WriteString("  ")
		b.Write(encode(r))
		if i < len(rows)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteByte(']')
}

func encode(v any) []byte {
	var b bytes.Buffer
	if err := plainjson.Encode(&b, v, ""); err != nil {
		panic(err) // texts, numbers and names: always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Rewrite returns the file with other steps in place of some, by their number. All
// else, comments too, stays as it is.
func Rewrite(file []byte, s *Script, changed map[int]steps.Step) []byte {
	var out []byte
	done := 0
	for _, i := range slices.Sorted(maps.Keys(changed)) {
		step := changed[i]
		out = append(out, file[done:s.Steps[i].from]...)
		out = append(out, encodeStep(&step)...)
		done = s.Steps[i].to
	}
	return append(out, file[done:]...)
}

// Expand puts the values of the script's variables into its steps. lookup
// returns false for a name that has none.
func (s *Script) Expand(lookup func(name string) (string, bool)) error {
	if len(s.Vars) == 0 {
		return nil
	}
	var pairs, missing []string
	for _, name := range s.Vars {
		value, ok := lookup(name)
		if !ok {
			missing = append(missing, name)
			continue
		}
		pairs = append(pairs, "${"+name+"}", value)
	}
	if len(missing) > 0 {
		return fault.Hintf(fault.Errorf(fault.Usage, "%s: no value", strings.Join(missing, ", ")),
			"give it as a variable of the environment, or by --var %s=@FILE", missing[0])
	}
	r := strings.NewReplacer(pairs...)
	for i := range s.Steps {
		step := &s.Steps[i]
		for _, text := range []**string{&step.Type, &step.Paste, &step.Run} {
			*text = replaced(r, *text)
		}
		if step.Answer != nil {
			step.Answer.Text = replaced(r, step.Answer.Text)
		}
		if step.Run != nil {
			if _, err := session.Typable(*step.Run); err != nil {
				return fmt.Errorf("line %d: %w", step.Line, err)
			}
		}
	}
	return nil
}

func replaced(r *strings.Replacer, text *string) *string {
	if text == nil {
		return nil
	}
	s := r.Replace(*text)
	return &s
}
