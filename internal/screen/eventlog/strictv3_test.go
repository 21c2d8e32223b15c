package eventlog_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

var (
	sizeText = regexp.MustCompile(`^[1-9][0-9]*x[1-9][0-9]*$`)
	exitText = regexp.MustCompile(`^[0-9]+$`)
)

// strictV3 checks a file against the asciicast v3 specification, read with
// nothing of this package.
func strictV3(file []byte) error {
	if !utf8.Valid(file) {
		return fmt.Errorf("not UTF-8")
	}
	if len(file) == 0 || file[len(file)-1] != '\n' {
		return fmt.Errorf("does not end with a newline")
	}
	lines := bytes.Split(file[:len(file)-1], []byte{'\n'})
	var h struct {
		Version *int
		Term    *struct {
			Cols, Rows    *int
			Type, Version *string
		}
		Timestamp      *int64
		IdleTimeLimit  *float64 `json:"idle_time_limit"`
		Command, Title *string
		Env            map[string]string
		Tags           []string
	}
	if err := json.Unmarshal(lines[0], &h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if h.Version == nil || *h.Version != 3 || h.Term == nil || h.Term.Cols == nil || h.Term.Rows == nil || *h.Term.Cols < 1 || *h.Term.Rows < 1 {
		return fmt.Errorf("header lacks version 3 or the terminal's size: %s", lines[0])
	}
	for i, line := range lines[1:] {
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		if err := strictEvent(line); err != nil {
			return fmt.Errorf("line %d: %w: %.200s", i+2, err, line)
		}
	}
	return nil
}

func strictEvent(line []byte) error {
	var ev []any
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&ev); err != nil {
		return err
	}
	if dec.More() || len(ev) != 3 {
		return fmt.Errorf("not one array of three")
	}
	interval, ok := ev[0].(json.Number)
	if !ok {
		return fmt.Errorf("interval is no number")
	}
	if f, err := interval.Float64(); err != nil || f < 0 {
		return fmt.Errorf("interval %v", interval)
	}
	code, ok1 := ev[1].(string)
	data, ok2 := ev[2].(string)
	if !ok1 || !ok2 || code == "" {
		return fmt.Errorf("code or data is no string")
	}
	if code == "r" && !sizeText.MatchString(data) {
		return fmt.Errorf("size %q", data)
	}
	if code == "x" && !exitText.MatchString(data) {
		return fmt.Errorf("exit status %q", data)
	}
	return nil
}
