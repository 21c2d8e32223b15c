package datarepo

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"

	"den/internal/ticks/jsonobject"
)

// located checks that an error says where in the file it is.
func located(t *testing.T, err error, size int) {
	t.Helper()
	var e *jsonobject.Error
	if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(size) {
		t.Errorf("%v", err)
	}
}

func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","max_thinking_tokens":1,"initial_query":"{tick:03d}","hook_env_prefix":"A","runner":"script","command":["a","b"]}`,
		`{"limits":{"wall_time":90,"turns":1,"cost_usd":0.5,"rounds":2,"context_tokens":1,"context_percent":70}}`,
		`{"container":{"engine":"podman","memory":"2g"},"x":null}`, `{"container":"none"}`, `{"limits":{"wall_time":"1h"}}`, `[]`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err != nil {
			located(t, err, len(data))
			return
		}
		c.Query(7, "/d")
	})
}

func FuzzStartup(f *testing.F) {
	for _, s := range []string{`{"ttys":[{"tty":0,"command":"bash","label":"x"},{"tty":3}]}`, `{"ttys":[{"tty":1},{"tty":1}]}`, `{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		terminals, err := parseStartup(data)
		if err != nil {
			located(t, err, len(data))
			return
		}
		seen := map[int]bool{}
		for _, tty := range terminals {
			if tty.Number < 0 || tty.Number >= Terminals || seen[tty.Number] || tty.Command == "" || strings.ContainsRune(tty.Command, 0) {
				t.Errorf("%+v", tty)
			}
			seen[tty.Number] = true
		}
		if !seen[0] {
			t.Error("terminal 0 is missing")
		}
	})
}

func FuzzState(f *testing.F) {
	for _, s := range []string{`{"tick_count":4,"last_tick":"2026-02-01T09:30:00.250000","last_tick_end":null,"first_tick_date":"2026-01-01","mine":[1]}`, `{"tick_count":-1}`, `{"last_tick":5}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		if err != nil {
			located(t, err, len(data))
			return
		}
		unchanged, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		if json.Unmarshal(data, &before) == nil {
			if err := json.Unmarshal(unchanged, &after); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("%s became %s, %v", data, unchanged, err)
			}
		}
		s.TickCount = 12345
		s.LastTickEnd = time.Date(2026, 2, 1, 9, 30, 0, 0, time.Local)
		written, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseState(written)
		if err != nil || again.TickCount != 12345 || !again.LastTickEnd.Equal(s.LastTickEnd) || !again.LastTick.Equal(s.LastTick) || again.FirstTickDate != s.FirstTickDate {
			t.Errorf("%+v, then %+v, %v", s, again, err)
		}
	})
}

func FuzzQuery(f *testing.F) {
	f.Add("Tick {tick:03d} in {data_dir} {{x}} {")
	f.Fuzz(func(t *testing.T, query string) {
		got := Config{InitialQuery: query}.Query(7, "/d")
		if !strings.Contains(query, "{") && !strings.Contains(query, "}") && got != query {
			t.Errorf("%q became %q", query, got)
		}
		if utf8.ValidString(query) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", query, got)
		}
	})
}

func FuzzTickNames(f *testing.F) {
	f.Add("tick-001.jsonl")
	f.Add("tty_1-tick-1042-1")
	f.Fuzz(func(t *testing.T, name string) {
		for _, n := range []int{tickIn(name, tickLogName.Get()), tickIn(name, archiveName.Get())} {
			if n < 0 || n > 999_999_999 {
				t.Errorf("%q: %d", name, n)
			}
		}
	})
}

// Whatever keys a file has besides den's, writing den's keeps them, their order
// and their values.
func TestUnknownKeysStay(t *testing.T) {
	law := func(extras map[string]string, tick uint16) bool {
		object := jsonobject.New()
		rng := rand.New(rand.NewPCG(uint64(tick), 1))
		put := func(key string, value any) {
			if err := object.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		for key, value := range extras {
			put("x "+key, value)
			if rng.IntN(3) == 0 {
				put("tick_count", 1)
			}
		}
		before := object.File()
		s, err := parseState(before)
		if err != nil {
			t.Fatal(err)
		}
		s.TickCount, s.LastTick = int(tick), time.Now()
		state, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		return same(t, before, state)
	}
	if err := quick.Check(law, nil); err != nil {
		t.Error(err)
	}
}

// same reports whether the keys that begin with "x " are the same, and in the
// same order.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	extras := func(data []byte) (all []string) {
		o, err := jsonobject.Parse("f", data)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range o.Keys() {
			if strings.HasPrefix(key, "x ") {
				v, _ := o.Get(key)
				all = append(all, key, string(v.Raw))
			}
		}
		return all
	}
	return reflect.DeepEqual(extras(a), extras(b))
}
