package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A Value is a JSON value as it is written.
type Value struct {
	Raw json.RawMessage

	doc    *document
	offset int64 // of its first byte in the document; -1 where it was set, not read
}

// kind is the type of a JSON value, as people call it.
type kind string

const (
	null    kind = "null"
	boolean kind = "true or false"
	number  kind = "a number"
	text    kind = "a string"
	list    kind = "a list"
	object  kind = "an object"
)

func (v Value) kind() kind {
	if len(v.Raw) == 0 {
		return null
	}
	switch v.Raw[0] {
	case 'n':
		return null
	case 't', 'f':
		return boolean
	case '"':
		return text
	case '[':
		return list
	case '{':
		return object
	}
	return number
}

// Errorf is an error about this value: it says where it is.
func (v Value) Errorf(format string, args ...any) error {
	return v.doc.errorf(v.offset, format, args...)
}

func (v Value) want(k kind) error {
	if v.kind() != k {
		return v.Errorf("%s, want %s", v.kind(), k)
	}
	return nil
}

// Object returns the value as an object.
func (v Value) Object() (*Object, error) {
	if err := v.want(object); err != nil {
		return nil, err
	}
	members, err := parseMembers(v.doc, v.Raw, max(0, v.offset))
	if err != nil {
		return nil, err
	}
	return &Object{doc: v.doc, members: members}, nil
}

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.kind() == object }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.kind() == text }

// List returns the elements of a list.
func (v Value) List() ([]Value, error) {
	if err := v.want(list); err != nil {
		return nil, err
	}
	base := max(0, v.offset)
	dec := json.NewDecoder(bytes.NewReader(v.Raw))
	if _, err := dec.Token(); err != nil {
		return nil, v.Errorf("%w", err)
	}
	var values []Value
	for dec.More() {
		start := skip(v.Raw, dec.InputOffset(), ",")
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, v.doc.errorf(base+start, "%w", err)
		}
		values = append(values, Value{doc: v.doc, Raw: raw, offset: base + start})
	}
	return values, nil
}

// Text returns a string.
func (v Value) Text() (string, error) {
	if err := v.want(text); err != nil {
		return "", err
	}
	var s string
	if err := json.Unmarshal(v.Raw, &s); err != nil {
		return "", v.Errorf("%w", err)
	}
	return s, nil
}

// Int returns a whole number.
func (v Value) Int() (int, error) {
	if err := v.want(number); err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if err != nil || n > math.MaxInt || n < math.MinInt {
		return 0, v.Errorf("%.40s, want a whole number", v.Raw)
	}
	return int(n), nil
}

// Float returns a number.
func (v Value) Float() (float64, error) {
	if err := v.want(number); err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if err != nil {
		return 0, v.Errorf("%.40s is too large", v.Raw)
	}
	return f, nil
}

// Bool returns true or false.
func (v Value) Bool() (bool, error) {
	if err := v.want(boolean); err != nil {
		return false, err
	}
	return v.Raw[0] == 't', nil
}

// document is what values were read from.
type document struct {
	file string
	data []byte
}

// An Error is a mistake in a file's content.
type Error struct {
	File         string // or ""
	Offset       int64  // of the first wrong byte; -1 where it is not known
	Line, Column int    // of the same, from 1; columns are characters
	Err          error
}

func (e *Error) Error() string {
	where := e.File
	if e.Offset >= 0 {
		where = fmt.Sprintf("%s: line %d, column %d (byte %d)", e.File, e.Line, e.Column, e.Offset)
	}
	return where + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

func (d *document) errorf(offset int64, format string, args ...any) error {
	if d == nil { // of a zero Value
		d, offset = &document{}, -1
	}
	e := &Error{File: d.file, Offset: offset, Err: fmt.Errorf(format, args...)}
	if offset >= 0 {
		before := d.data[:min(offset, int64(len(d.data)))]
		e.Line = 1 + bytes.Count(before, []byte("\n"))
		e.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	}
	return e
}

// Key returns err with the key whose value it is about.
func Key(key string, err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	located := *e
	located.Err = fmt.Errorf("%q: %w", key, e.Err)
	return &located
}
