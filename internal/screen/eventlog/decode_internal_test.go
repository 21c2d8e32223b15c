package eventlog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"
)

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[0m\r\n\t\"\\", "é€😀", "\x00\x1f\x7f", "12345678\"", "1234567\x1f9", "\u2028", "\xff\xe2\x82"} {
		f.Add([]byte(s), int64(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, us int64) {
		us = max(us, 0) % 1e15
		line := appendText(nil, us, Output, data)
		if !utf8.Valid(data) {
			line = appendBinary(nil, us, OutputBytes, data)
		}
		var parts [3]any
		if err := json.Unmarshal(line, &parts); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		text := parts[2].(string)
		if parts[1] == "b" {
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if text != string(data) {
			t.Fatalf("encoding/json reads %q, want %q", text, data)
		}
		var d decoder
		var ev raw
		if err := d.line(line[:len(line)-1], &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if ev.us != us || !bytes.Equal(ev.data, data) {
			t.Fatalf("%q: read %d %q, want %d %q", line, ev.us, ev.data, us, data)
		}
	})
}

// FuzzDecodeLine holds the hand-written decoder to encoding/json's verdict.
func FuzzDecodeLine(f *testing.F) {
	for _, s := range []string{
		`[0.0, "o", "x"]`, `[1.5,"o","\u001b[0m\n"]`, `[00.1, "o", ""]`, `[1., "o", ""]`, `[1e3, "o", "x"]`, `[-1, "o", ""]`,
		`[0.1234567, "m", "\ud83d\ude00"]`, `[1, "b", "/w=="]`, `[1, "b", "/w="]`, `[1, "o", "a"b"]`, `[1, "o", "a\"]`, `[1, "o", "\x"]`,
		`[1, "", "a"]`, `[1, "o", {}]`, `[1, "z", {"a":[1]}]`, `[1, "o", "a", 4]`, `[1, "o"]`, `{}`, `[`, ``, `null`,
		`[99999999999999999999, "o", ""]`, "[1, \"o\", \"\xff\"]", "[1, \"o\", \"a\tb\"]", `[9999999999.999999, "o", ""]`, `[1, "o", "\u00"]`,
		`["1", "o", "x"]`, `[1, 2, "x"]`, `[1, "\u006f", "x"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		us, code, data, ok := oracle(line)
		var d decoder
		var ev raw
		err := d.line(bytes.Clone(line), &ev)
		if (err == nil) != ok {
			t.Fatalf("%q: error %v, encoding/json says %v", line, err, ok)
		}
		// A float of a large number is less exact than the digits.
		if ok && (math.Abs(float64(ev.us-us)) > 1+float64(us)*1e-15 || ev.code != code || !bytes.Equal(ev.data, data)) {
			t.Fatalf("%q: got %d %q %q, encoding/json says %d %q %q", line, ev.us, ev.code, ev.data, us, code, data)
		}
	})
}

// oracle decodes a line with encoding/json alone.
func oracle(line []byte) (us int64, code string, data []byte, ok bool) {
	if !utf8.Valid(line) {
		return
	}
	var parts []json.RawMessage
	if json.Unmarshal(line, &parts) != nil || len(parts) < 3 {
		return
	}
	var sec json.Number
	if parts[0][0] == '"' || json.Unmarshal(parts[0], &sec) != nil || json.Unmarshal(parts[1], &code) != nil || code == "" {
		return
	}
	v, err := strconv.ParseFloat(string(sec), 64)
	if err != nil || v < 0 || math.Round(v*1e6) > maxElapsed {
		return
	}
	var text string
	switch {
	case json.Unmarshal(parts[2], &text) == nil && parts[2][0] == '"':
		data = []byte(text)
	case bytes.ContainsAny([]byte(code), "oirmxbB") && len(code) == 1:
		return
	default:
		data = parts[2]
	}
	if code == "b" || code == "B" {
		if data, err = base64.StdEncoding.DecodeString(string(data)); err != nil {
			return
		}
	}
	return int64(math.Round(v * 1e6)), code, data, true
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add([]byte(`{"version":3,"term":{"cols":80,"rows":24},"den":{"v":1,"segment":1,"seq":7,"elapsed_us":3}}`))
	f.Add([]byte(`{"version":3,"term":{"cols":80,"rows":24},"timestamp":1.5e9}`))
	f.Add([]byte(`{"version":3,"term":{"cols":0,"rows":-1}}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var seg Segment
		if err := decodeHeader(line, &seg); err != nil {
			return
		}
		h := seg.Header
		if h.Cols < 1 || h.Rows < 1 || h.Cols > maxSide || h.Rows > maxSide || seg.Elapsed < 0 {
			t.Fatalf("%q: %+v", line, seg)
		}
	})
}

func TestPlain(t *testing.T) {
	for n := range 40 {
		for c := range 256 {
			for _, fill := range []byte{'a', 0x7f, 0x80, 0xff, ' ', '!', '#', '[', ']'} {
				s := bytes.Repeat([]byte{fill}, 40)
				s[n] = byte(c)
				want := len(s)
				if c < 0x20 || c == '"' || c == '\\' {
					want = n
				}
				if got := plain(s); got != want {
					t.Fatalf("plain(%q) = %d, want %d", s, got, want)
				}
			}
		}
	}
}

func TestAppendSeconds(t *testing.T) {
	for us, want := range map[int64]string{
		0: "0.0", 1: "0.000001", 100000: "0.1", 1000001: "1.000001", 12300000: "12.3", 12000003: "12.000003", 1e13: "10000000.0",
	} {
		if got := string(appendSeconds(nil, us)); got != want {
			t.Errorf("appendSeconds(%d) = %q, want %q", us, got, want)
		}
	}
}
