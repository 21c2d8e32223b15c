package eventlog

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// raw is a decoded line. Its data points into the line or the decoder's
// buffer.
type raw struct {
	us   int64 // since the line before
	code string
	data []byte
}

// decoder decodes lines into events. It reuses its buffers.
type decoder struct {
	scratch []byte
	binary  []byte
}

var errNotUTF8 = errors.New("not UTF-8")

// line decodes one event line, given without its newline.
func (d *decoder) line(b []byte, ev *raw) error {
	if !d.fast(b, ev) {
		if !utf8.Valid(b) {
			return errNotUTF8 // encoding/json would put U+FFFD in and say nothing
		}
		if err := slow(b, ev); err != nil {
			return err
		}
	}
	if ev.code == OutputBytes || ev.code == InputBytes {
		bin, err := base64.StdEncoding.AppendDecode(d.binary[:0], ev.data)
		if err != nil {
			return err
		}
		ev.data, d.binary = bin, bin
	}
	return nil
}

// fast decodes lines in the form that den and asciinema write. It returns
// false for all others, valid or not.
func (d *decoder) fast(b []byte, ev *raw) bool {
	us, i, ok := fastHead(b, ev)
	if !ok || !bytes.HasSuffix(b[i:], []byte(`"]`)) {
		return false
	}
	body := b[i : len(b)-2]
	if !utf8.Valid(body) {
		return false
	}
	ev.us = us
	if plain(body) == len(body) {
		ev.data = body
		return true
	}
	ev.data, ok = d.unescape(body)
	return ok
}

// fastHead decodes up to the data's opening quote and returns the index of the
// byte behind it.
func fastHead(b []byte, ev *raw) (us int64, i int, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return 0, 0, false
	}
	us, i, ok = fastSeconds(b, 1)
	if !ok {
		return 0, 0, false
	}
	if i, ok = fastQuote(b, i); !ok || len(b) < i+2 || b[i+1] != '"' {
		return 0, 0, false
	}
	c := b[i]
	if c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
		return 0, 0, false
	}
	ev.code = string(b[i : i+1]) // one byte: the runtime has these strings
	i, ok = fastQuote(b, i+2)
	return us, i, ok
}

// fastSeconds parses a number with at most six digits after the point.
func fastSeconds(b []byte, i int) (us int64, end int, ok bool) {
	start := i
	for i < len(b) && b[i]-'0' < 10 {
		us = us*10 + int64(b[i]-'0')
		i++
	}
	if i == start || i-start > 9 || i-start > 1 && b[start] == '0' {
		return 0, 0, false
	}
	if i == len(b) || b[i] != '.' {
		return us * 1e6, i, true
	}
	i++
	start = i
	for i < len(b) && b[i]-'0' < 10 {
		us = us*10 + int64(b[i]-'0')
		i++
	}
	digits := i - start
	if digits == 0 || digits > 6 {
		return 0, 0, false
	}
	for ; digits < 6; digits++ {
		us *= 10
	}
	return us, i, true
}

// fastQuote skips a comma, an optional space and a quote.
func fastQuote(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == ',' {
		i++
		if i < len(b) && b[i] == ' ' {
			i++
		}
		if i < len(b) && b[i] == '"' {
			return i + 1, true
		}
	}
	return 0, false
}

// unescape decodes s. As in escapeInto, plain bytes move eight at a time.
func (d *decoder) unescape(s []byte) ([]byte, bool) {
	// Unescaping never makes text longer, but a store may write seven bytes
	// too many.
	if cap(d.scratch) < len(s)+8 {
		d.scratch = make([]byte, len(s)+len(s)/4+8)
	}
	out := d.scratch[:cap(d.scratch)]
	j := 0
	for {
		for len(s) >= 8 {
			x := binary.LittleEndian.Uint64(s)
			binary.LittleEndian.PutUint64(out[j:], x)
			if m := special(x); m != 0 {
				n := bits.TrailingZeros64(m) / 8
				s = s[n:]
				j += n
				break
			}
			s = s[8:]
			j += 8
		}
		for len(s) > 0 && s[0] >= 0x20 && s[0] != '"' && s[0] != '\\' {
			out[j] = s[0]
			s = s[1:]
			j++
		}
		if len(s) == 0 {
			return out[:j], true
		}
		if s[0] != '\\' || len(s) < 2 {
			return nil, false
		}
		if c := unescapes[s[1]]; c != 0 {
			out[j] = c
			j++
			s = s[2:]
			continue
		}
		r, ok := hexRune(s)
		if !ok {
			return nil, false
		}
		if r < utf8.RuneSelf {
			out[j] = byte(r)
			j++
		} else {
			j += utf8.EncodeRune(out[j:], r)
		}
		s = s[6:]
	}
}

// unescapes maps the byte after a backslash to the character that both stand
// for.
var unescapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f',
}

// hexRune decodes \uXXXX. Surrogate pairs are left to encoding/json.
func hexRune(s []byte) (rune, bool) {
	if len(s) < 6 || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case c-'0' < 10:
			c -= '0'
		case (c|0x20)-'a' < 6:
			c = (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, r < 0xd800 || r > 0xdfff
}

// slow decodes any line that the format allows.
func slow(b []byte, ev *raw) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) < 3 {
		return fmt.Errorf("event has %d elements, want 3", len(parts))
	}
	sec, err := strconv.ParseFloat(string(parts[0]), 64)
	if err != nil {
		return fmt.Errorf("interval %.40q is not a number", parts[0])
	}
	us := math.Round(sec * 1e6)
	if !(us >= 0 && us <= maxElapsed) {
		return fmt.Errorf("interval %s is out of range", parts[0])
	}
	var code string
	if err := json.Unmarshal(parts[1], &code); err != nil || code == "" {
		return fmt.Errorf("code %.40q is not text", parts[1])
	}
	*ev = raw{us: int64(us), code: code}
	if parts[2][0] != '"' {
		switch code {
		case Output, Input, Resize, Mark, Exit, OutputBytes, InputBytes:
			return fmt.Errorf("data of a %q event is not text", code)
		}
		ev.data = parts[2] // a code of somebody else: kept as it stands
		return nil
	}
	var text string
	if err := json.Unmarshal(parts[2], &text); err != nil {
		return err
	}
	ev.data = []byte(text)
	return nil
}
