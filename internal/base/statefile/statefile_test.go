package statefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/statefile"
)

type content struct {
	V    int    `json:"v"`
	Name string `json:"name,omitempty"`
}

func TestSavedIsLoaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if got, found, err := statefile.Load[content](path, 2, 1<<10); found || err != nil || got != (content{}) {
		t.Fatalf("none: %+v, %v, %v", got, found, err)
	}
	for _, save := range []func(string, int, content) error{statefile.Save[content], statefile.Replace[content]} {
		if err := save(path, 2, content{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		if got, found, err := statefile.Load[content](path, 2, 1<<10); !found || err != nil || got != (content{2, "x"}) {
			t.Errorf("%+v, %v, %v", got, found, err)
		}
	}
	if data, err := os.ReadFile(path); string(data) != "{\n  \"v\": 2,\n  \"name\": \"x\"\n}\n" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	for _, row := range []struct {
		content string
		kind    fault.Kind
		is      error
		says    string
	}{
		{`{"v":3}`, fault.Protocol, nil, path + " has version 3, this den knows 2"},
		{`{"v":3,"name":["of another type"]}`, fault.Protocol, nil, path + " has version 3, this den knows 2"},
		{`{"v":2,"name":["of another type"]}`, fault.Storage, statefile.ErrDamaged, path + ": the file is damaged: "},
		{`{"v":`, fault.Storage, statefile.ErrDamaged, path + ": the file is damaged: "},
		{``, fault.Storage, statefile.ErrDamaged, path + ": the file is damaged: "},
		{strings.Repeat(" ", 1<<10) + `{}`, fault.Storage, atomicfile.ErrTooLarge, path},
	} {
		if err := os.WriteFile(path, []byte(row.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, found, err := statefile.Load[content](path, 2, 1<<10)
		if found || got != (content{}) || fault.KindOf(err) != row.kind || row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%.40s: %+v, %v, %v", row.content, got, found, err)
		}
		hint := "remove it"
		if row.kind == fault.Protocol {
			hint = "use the newer den"
		}
		if got := fault.HintOf(statefile.Advise(err, "remove it")); got != hint {
			t.Errorf("%.40s: the hint is %q", row.content, got)
		}
	}
	if _, _, err := statefile.Load[content](filepath.Dir(path), 2, 1<<10); !errors.Is(err, atomicfile.ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}

// ircd's files have the version under another key.
func TestKeys(t *testing.T) {
	type other struct {
		Name    string
		Version int `json:"version"`
	}
	if _, err := statefile.Decode[other]("x", []byte(`{"version":2}`), 1); fault.KindOf(err) != fault.Protocol {
		t.Errorf("%v", err)
	}
	if got, err := statefile.Decode[other]("x", []byte(`{"version":1,"v":"unknown"}`), 1); got.Version != 1 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a type without a version was taken")
		}
	}()
	_, _ = statefile.Decode[struct{}]("x", []byte(`{}`), 1) // it panics
}

func TestUnknownKeysAreKept(t *testing.T) {
	for old, want := range map[string]string{
		``: `{"v":1,"name":"n"}`, `{}`: `{"v":1,"name":"n"}`, `{"v":9,"name":"old"}`: `{"v":1,"name":"n"}`,
		`{"v":9,"of_tomorrow":{"a":[1]}}`: `{"name":"n","of_tomorrow":{"a":[1]},"v":1}`,
	} {
		var before []byte
		if old != "" {
			before = []byte(old)
		}
		if got, err := statefile.Over(before, &content{1, "n"}); string(got) != want || err != nil {
			t.Errorf("%s: %s, %v", old, got, err)
		}
	}
}

func TestPutAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.json")
	if err := os.WriteFile(path, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	aside := path + ".corrupt-20260102T030405.000000006Z"
	if err := statefile.PutAside(path, why, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)); !errors.Is(err, why) || !strings.Contains(err.Error(), aside) {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(aside); string(data) != "?" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if err := statefile.PutAside(path, why, time.Now()); !errors.Is(err, why) || fault.KindOf(err) != fault.Storage {
		t.Errorf("none is there: %v", err)
	}
}

// Whatever a file has, it is read or refused.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"v":1}`, `{"v":3}`, `{"v":-1}`, `{"v":"x"}`, `[]`, ``, `null`, `{"v":1e99}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := statefile.Decode[content]("x", data, 2)
		if kind := fault.KindOf(err); err != nil && kind != fault.Protocol && kind != fault.Storage || err == nil && got.V > 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
