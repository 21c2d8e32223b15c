package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/httpguard"
	"den/internal/session/wire"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want string // part of the error, or "": none
	}{
		{``, ""},
		{` `, ""},
		{`{}`, ""},
		{`null`, ""},
		{`{"session":null,"text":"x"}`, ""},
		{`{"session":7}`, "argument 'session' is a number; want a string"},
		{`{"text":"x","after":1.5}`, "argument 'after' is a number 1.5; want a whole number"},
		{`{"after":-1}`, "whole number"},
		{`{"ready":"yes"}`, "argument 'ready' is a string; want true or false"},
		{`{"timeout":"9"}`, "argument 'timeout' is a string; want a number"},
		{`{"tmeout":9}`, `unknown field "tmeout"`},
		{`[]`, "arguments: "},
		{`{} {}`, "more than one"},
		{`{`, "arguments: "},
	} {
		_, err := decode[waitArguments](json.RawMessage(c.raw))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.raw, err, c.want)
		case err != nil && fault.KindOf(err) != fault.Usage:
			t.Errorf("%s: the kind is %s", c.raw, fault.KindOf(err))
		}
	}
}

// An agent can wait for every condition but those that spare it nothing: idle is
// nearly stable, and changed and cursor need a snapshot first.
func TestEveryConditionIsReached(t *testing.T) {
	meant := []string{"changed", "cursor", "idle"}
	schema := ""
	for _, tool := range tools() {
		if tool.Name == "wait" {
			schema = tool.Schema
		}
	}
	for _, c := range wire.WaitConditions {
		if slices.Contains(meant, c.Name) {
			continue
		}
		value := map[reflect.Kind]string{reflect.Bool: "true", reflect.Pointer: `"x"`}[reflect.TypeOf(c.In(&wire.Wait{})).Elem().Kind()]
		a, err := decode[waitArguments](fmt.Appendf(nil, `{"%s":%s}`, c.Name, cmp.Or(value, "7")))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if w, err := a.conditions(); err != nil || w == nil || reflect.ValueOf(c.In(w)).Elem().IsZero() {
			t.Errorf("%s asks for %+v, %v", c.Name, w, err)
		}
		if !strings.Contains(schema, `"`+c.Name+`":{`) {
			t.Errorf("the schema has no %s", c.Name)
		}
	}
}

func TestChords(t *testing.T) {
	for raw, want := range map[string][]string{
		`["C-c"]`:        {"C-c"},
		`["a"," ","b"]`:  {"a", " ", "b"},
		`"Down Down Up"`: {"Down", "Down", "Up"},
		`"C-c"`:          {"C-c"},
	} {
		var c chords
		if err := json.Unmarshal([]byte(raw), &c); err != nil || !reflect.DeepEqual([]string(c), want) {
			t.Errorf("%s: %q, %v", raw, c, err)
		}
	}
	var c chords
	if err := json.Unmarshal([]byte(`{"a":1}`), &c); err == nil {
		t.Errorf("an object: %q", c)
	}
}

// FuzzArguments: whatever a client sends is understood or refused with an error
// of usage, and waits are within their bounds.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"code":"x","timeout":3}`, `{"timeout":1e400}`, `{"keys":["C-c"]}`, `{"keys":7}`, `{"regex":"(","stable":-1}`, `{"text":"\ud800"}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	usage := func(t *testing.T, err error) {
		if err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%v is %s", err, fault.KindOf(err))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		run, err := decode[runArguments](raw)
		usage(t, err)
		limit, err := run.limit()
		usage(t, err)
		if err == nil && (limit <= 0 || limit > maxTimeout) {
			t.Errorf("timeout %v", limit)
		}
		if answer, err := decode[answerArguments](raw); err == nil {
			_, err = answer.input()
			usage(t, err)
		} else {
			usage(t, err)
		}
		if wait, err := decode[waitArguments](raw); err == nil {
			conditions, err := wait.conditions()
			usage(t, err)
			if err == nil && conditions != nil && (conditions.Timeout <= 0 || conditions.Timeout > maxTimeout || conditions.Stable < 0) {
				t.Errorf("%+v", conditions)
			}
		} else {
			usage(t, err)
		}
		_, err = decode[openArguments](raw)
		usage(t, err)
	})
}

func FuzzParseURI(f *testing.F) {
	f.Add("den://terminal/work/screen")
	f.Add("den://terminal//screen")
	f.Add("den://terminal/a/b/recording")
	f.Fuzz(func(t *testing.T, uri string) {
		session, part, ok := parseURI(uri)
		if ok && (uri != uriPrefix+session+"/"+part || session == "" || strings.Contains(session, "/")) {
			t.Errorf("%q became %q, %q", uri, session, part)
		}
	})
}

func TestSeconds(t *testing.T) {
	if d, err := seconds("x", 1.5); err != nil || d != 1500*time.Millisecond {
		t.Errorf("%v, %v", d, err)
	}
	for _, bad := range []float64{-1, 1e12} {
		if d, err := seconds("x", bad); err == nil {
			t.Errorf("%v is %v", bad, d)
		}
	}
}

func TestToken(t *testing.T) {
	none := func(string) string { return "" }
	path := filepath.Join(t.TempDir(), "home", "mcp-token")
	made, file, err := loadToken(none, path)
	if err != nil || file != path || len(made) < 32 {
		t.Fatalf("%q, %q, %v", made, file, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if again, _, err := loadToken(none, path); err != nil || again != made {
		t.Errorf("the second start: %q, %v", again, err)
	}
	given := httpguard.NewToken()
	env := func(key string) string { return map[string]string{TokenVariable: given}[key] }
	if token, file, err := loadToken(env, path); err != nil || token != given || file != "" {
		t.Errorf("from the environment: %q, %q, %v", token, file, err)
	}
	for what, write := range map[string]func() error{
		"short":    func() error { return os.WriteFile(path, []byte("short"), 0o600) },
		"strange":  func() error { return os.WriteFile(path, []byte(strings.Repeat("é", 20)), 0o600) },
		"long":     func() error { return os.WriteFile(path, []byte(strings.Repeat("x", 5000)), 0o600) },
		"readable": func() error { return os.WriteFile(path, []byte(given), 0o644) },
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if token, _, err := loadToken(none, path); err == nil || strings.Contains(err.Error(), given) {
			t.Errorf("%s: %q, %v", what, token, err)
		}
	}
}
