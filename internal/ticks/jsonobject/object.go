// Package jsonobject reads and writes JSON objects without losing the keys that
// the reader does not know, their order, or the way their values are written.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// An Object is a JSON object in the order in which it was written. Where a key
// is there twice, the last one counts.
type Object struct {
	doc     *document
	members []member
}

type member struct {
	key   string
	name  []byte // the key as it is written, in quotes
	value Value
}

// New returns an empty object.
func New() *Object { return &Object{doc: &document{}} }

// Parse reads an object. file names the data in errors, which are all of type
// *Error.
func Parse(file string, data []byte) (*Object, error) {
	doc := &document{file: file, data: data}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, doc.syntaxError(err)
	}
	start := skip(data, 0, "")
	return Value{doc: doc, Raw: bytes.TrimSpace(data), offset: start}.Object()
}

// Get returns the value of a key. A null is no value.
func (o *Object) Get(key string) (Value, bool) {
	i := o.index(key)
	if i < 0 || o.members[i].value.kind() == null {
		return Value{}, false
	}
	return o.members[i].value, true
}

// Field reads the value of a key with read, such as Value.Text. Where there is
// no value, to stays as it is.
func Field[T any](o *Object, key string, read func(Value) (T, error), to *T) error {
	v, ok := o.Get(key)
	if !ok {
		return nil
	}
	got, err := read(v)
	if err == nil {
		*to = got
	}
	return Key(key, err)
}

// index is of the last member with the key, or -1.
func (o *Object) index(key string) int {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			return i
		}
	}
	return -1
}

// Keys returns the keys in their order, each once.
func (o *Object) Keys() []string {
	var keys []string
	for _, m := range o.members {
		if !slices.Contains(keys, m.key) {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// Set gives a key a value: at its place where it is there, else at the end.
func (o *Object) Set(key string, v any) error {
	raw, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode %q: %w", key, err)
	}
	value := Value{doc: o.doc, Raw: raw, offset: -1}
	if i := o.index(key); i >= 0 {
		o.members[i].value = value
		return nil
	}
	name, err := encode(key)
	if err != nil {
		return fmt.Errorf("encode %q: %w", key, err)
	}
	o.members = append(o.members, member{key, name, value})
	return nil
}

// Clone returns a copy, which can be changed without changing the original.
func (o *Object) Clone() *Object { return &Object{doc: o.doc, members: slices.Clone(o.members)} }

// Delete removes a key.
func (o *Object) Delete(key string) {
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.key == key })
}

// encode is json.Marshal that leaves '<', '>' and '&' as they are.
func encode(v any) (json.RawMessage, error) {
	if o, ok := v.(*Object); ok {
		return o.Raw(), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Raw is the object's JSON, to be a part of another.
func (o *Object) Raw() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.name)
		b.WriteByte(':')
		b.Write(m.value.Raw)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// File is the object as a file: indented, with a newline at the end.
func (o *Object) File() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, o.Raw(), "", "  "); err != nil {
		panic("jsonobject: an object with a value that is no JSON: " + err.Error()) // values were parsed or encoded
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// parseMembers reads the members of data, which is valid JSON and begins with
// a brace. Offsets are counted from base.
func parseMembers(doc *document, data []byte, base int64) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, doc.errorf(base, "%w", err)
	}
	var members []member
	for dec.More() {
		nameStart := skip(data, dec.InputOffset(), ",")
		token, err := dec.Token()
		if err != nil {
			return nil, doc.errorf(base+nameStart, "%w", err)
		}
		key, ok := token.(string)
		if !ok {
			return nil, doc.errorf(base+nameStart, "%v is no key", token)
		}
		name := data[nameStart:dec.InputOffset()]
		start := skip(data, dec.InputOffset(), ":")
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, doc.errorf(base+start, "%w", err)
		}
		members = append(members, member{key, name, Value{doc: doc, Raw: raw, offset: base + start}})
	}
	return members, nil
}

// skip returns the offset of the first byte from offset on that is no white
// space and none of separators.
func skip(data []byte, offset int64, separators string) int64 {
	for offset < int64(len(data)) && (bytes.IndexByte([]byte(" \t\r\n"), data[offset]) >= 0 || bytes.IndexByte([]byte(separators), data[offset]) >= 0) {
		offset++
	}
	return offset
}

// syntaxError locates an error of the JSON parser, which counts the bytes that
// it has read, the wrong one among them.
func (d *document) syntaxError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return d.errorf(max(0, syntax.Offset-1), "%w", err)
	}
	return d.errorf(0, "%w", err)
}

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
