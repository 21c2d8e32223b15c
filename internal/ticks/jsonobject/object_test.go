package jsonobject_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"den/internal/ticks/jsonobject"
)

// Whatever is set, the rest is written as it was read.
func TestUnknownKeysStay(t *testing.T) {
	o, err := jsonobject.Parse("f.json", []byte(`{"z": 1.50e2, "a": {"<k>": "\u00e9 & <b>"}, "known": 1, "big": 123456789012345678901234567890}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(o.Set("known", 2), o.Set("new", "<x>")); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"z\": 1.50e2,\n  \"a\": {\n    \"<k>\": \"\\u00e9 & <b>\"\n  },\n  \"known\": 2,\n  \"big\": 123456789012345678901234567890,\n  \"new\": \"<x>\"\n}\n"
	if got := string(o.File()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "f.json: line 1, column 1 (byte 0): unexpected end of JSON input",
		"[1]":                        "f.json: line 1, column 1 (byte 0): a list, want an object",
		"\n 7":                       "f.json: line 2, column 2 (byte 2): a number, want an object",
		"{\n  \"a\": 1,\n}":          "f.json: line 3, column 1 (byte 12): invalid character '}' looking for beginning of object key string",
		"{\"ä\": 1} x":               "f.json: line 1, column 10 (byte 10): invalid character 'x' after top-level value",
		"{\n \"a\":\n  {\"n\": []}}": `f.json: line 3, column 9 (byte 16): "n": a list, want a number`,
	} {
		o, err := jsonobject.Parse("f.json", []byte(text))
		if err == nil {
			err = number(o)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n %v\nwant\n %s", text, err, want)
		}
	}
}

// number reads a.n, which is to be one.
func number(o *jsonobject.Object) error {
	a, ok := o.Get("a")
	if !ok {
		return nil
	}
	inner, err := a.Object()
	if err != nil {
		return err
	}
	n, _ := inner.Get("n")
	_, err = n.Int()
	return jsonobject.Key("n", err)
}

func TestTheLastOfAKeyCounts(t *testing.T) {
	o, err := jsonobject.Parse("f.json", []byte(`{"a": 1, "b": null, "a": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	v, ok := o.Get("a")
	if n, err := v.Int(); !ok || n != 2 || err != nil {
		t.Errorf("%d, %v, %v", n, ok, err)
	}
	if _, ok := o.Get("b"); ok {
		t.Error("a null is a value")
	}
	if got := o.Keys(); !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
	o.Delete("a")
	if got := string(o.Raw()); got != `{"b":null}` {
		t.Errorf("%s", got)
	}
}

func TestLists(t *testing.T) {
	o, err := jsonobject.Parse("f.json", []byte("{\"l\": [ 1,\n \"x\" , {} ]}"))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := o.Get("l")
	l, err := v.List()
	if err != nil || len(l) != 3 {
		t.Fatalf("%v, %v", l, err)
	}
	if _, err := l[1].Bool(); err == nil || !strings.Contains(err.Error(), "line 2, column 2") {
		t.Errorf("%v", err)
	}
	if !l[2].IsObject() || !l[1].IsString() {
		t.Error("wrong kinds")
	}
}

// What is parsed is written so that it means the same, and parsing that again
// changes nothing more.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, ` {"a":[1,2,{"b":null}], "a":"x"} `, `{"\u0061":1}`, `{"a`, `[]`, "{\"\xff\":\"\xfe\"}", `{"a":1e999}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := jsonobject.Parse("f.json", data)
		var want map[string]any
		if werr := json.Unmarshal(data, &want); err != nil {
			var e *jsonobject.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(data)) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%#v", err)
			}
			if werr == nil && want != nil {
				t.Fatalf("refused %q: %v", data, err)
			}
			return
		}
		written := o.File()
		again, err := jsonobject.Parse("f.json", written)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", data, written, err)
		}
		if !bytes.Equal(again.File(), written) {
			t.Fatalf("%q, then %q", written, again.File())
		}
		var got map[string]any
		if werr := json.Unmarshal(data, &want); werr == nil {
			if err := json.Unmarshal(written, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q means %v, want %v; %v", written, got, want, err)
			}
		}
		for _, key := range o.Keys() {
			if v, ok := o.Get(key); ok {
				v.Int()
				v.Float()
				v.Text()
				if l, err := v.List(); err == nil {
					for _, e := range l {
						e.Object()
					}
				}
			}
		}
	})
}
