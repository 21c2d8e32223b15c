package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/registry"
)

func open(t *testing.T) registry.Registry {
	t.Helper()
	config := t.TempDir()
	r, err := registry.New(func(key string) string { return map[string]string{"XDG_CONFIG_HOME": config}[key] })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNewFindsTheConfigurationDirectory(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_CONFIG_HOME": "/c", "HOME": "/h"}, "/c/den/kernel.json"},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/den/kernel.json"},
		{map[string]string{"HOME": "/h"}, "/h/.config/den/kernel.json"},
	} {
		if r, err := registry.New(func(key string) string { return c.env[key] }); err != nil || r.Path != c.want {
			t.Errorf("%v: %s, %v; want %s", c.env, r.Path, err, c.want)
		}
	}
	if r, err := registry.New(func(string) string { return "" }); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v, %v", r, err)
	}
}

func TestAddGetListRemove(t *testing.T) {
	r, dir := open(t), realDir(t)
	if all, err := r.List(); len(all) != 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	created := time.Date(2026, 2, 1, 9, 30, 15, 7, time.UTC)
	in, err := r.Add(t.Context(), registry.Instance{Name: "scout", Path: link, Remote: "git@example.org:a/b.git", Created: created})
	if err != nil || in.Path != dir {
		t.Fatalf("%+v, %v", in, err)
	}
	got, err := r.Get("scout")
	if err != nil || got != in || !got.Created.Equal(created.Truncate(time.Second)) {
		t.Errorf("%+v, %v; want %+v", got, err, in)
	}
	if _, err := r.Add(t.Context(), registry.Instance{Name: "alpha", Path: realDir(t), Created: created}); err != nil {
		t.Fatal(err)
	}
	all, err := r.List()
	if err != nil || len(all) != 2 || all[0].Name != "alpha" || all[1].Name != "scout" {
		t.Errorf("%+v, %v", all, err)
	}
	if removed, err := r.Remove(t.Context(), "scout"); err != nil || removed != in {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := r.Get("scout"); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := r.Remove(t.Context(), "scout"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

func TestAddRefuses(t *testing.T) {
	r, dir := open(t), realDir(t)
	if _, err := r.Add(t.Context(), registry.Instance{Name: "a", Path: dir}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		in   registry.Instance
		kind fault.Kind
	}{
		"a name twice":         {registry.Instance{Name: "a", Path: realDir(t)}, fault.Usage},
		"a path twice":         {registry.Instance{Name: "b", Path: dir}, fault.Usage},
		"a path as a name":     {registry.Instance{Name: "../b", Path: realDir(t)}, fault.Usage},
		"a relative path":      {registry.Instance{Name: "b", Path: "data"}, fault.Usage},
		"a missing directory":  {registry.Instance{Name: "b", Path: filepath.Join(dir, "none")}, fault.NotFound},
		"a file for directory": {registry.Instance{Name: "b", Path: file}, fault.Usage},
	} {
		if _, err := r.Add(t.Context(), c.in); fault.KindOf(err) != c.kind {
			t.Errorf("%s: %v", what, err)
		}
	}
	if all, err := r.List(); len(all) != 1 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
}

// A damaged file is an error that names it, and is not written over.
func TestDamagedFileStays(t *testing.T) {
	for content, kind := range map[string]fault.Kind{
		`{"v": 1, "instances": {`: fault.Storage,
		`[]`:                      fault.Storage,
		`{"instances": []}`:       fault.Storage,
		`{"instances": {"a": {"path": "relative"}}}`:           fault.Storage,
		`{"instances": {"../a": {"path": "/x"}}}`:              fault.Storage,
		`{"instances": {"a": {"path": "/x", "created": "?"}}}`: fault.Storage,
		`{"v": 2, "instances": {}}`:                            fault.Protocol,
	} {
		r := open(t)
		if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, lerr := r.List()
		_, aerr := r.Add(t.Context(), registry.Instance{Name: "b", Path: realDir(t)})
		for _, err := range []error{lerr, aerr} {
			if fault.KindOf(err) != kind || !strings.Contains(err.Error(), r.Path) || fault.HintOf(err) == "" {
				t.Errorf("%s: %v (%s, hint %q)", content, err, fault.KindOf(err), fault.HintOf(err))
			}
		}
		if now, err := os.ReadFile(r.Path); string(now) != content || err != nil {
			t.Errorf("%s is %s now, %v", content, now, err)
		}
	}
}

func TestPipeDoesNotBlock(t *testing.T) {
	r := open(t)
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(r.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.List(); err == nil {
		t.Error("a pipe was read")
	}
}

// Keys that this den does not know are kept, in the file and in an instance.
func TestUnknownKeysStay(t *testing.T) {
	r, dir := open(t), realDir(t)
	if err := os.MkdirAll(filepath.Dir(r.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.Path, []byte(`{"later": [1], "instances": {"a": {"path": "/x", "colour": "red"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Add(t.Context(), registry.Instance{Name: "b", Path: dir}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Path)
	if err != nil || !strings.Contains(string(data), `"later"`) || !strings.Contains(string(data), `"colour": "red"`) {
		t.Errorf("%s, %v", data, err)
	}
}

// Many processes that add at once lose none.
func TestConcurrentAdds(t *testing.T) {
	r := open(t)
	var wg sync.WaitGroup
	for i := range 20 {
		dir := realDir(t)
		wg.Go(func() {
			if _, err := r.Add(t.Context(), registry.Instance{Name: "i" + string(rune('a'+i)), Path: dir}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := r.List(); len(all) != 20 || err != nil {
		t.Errorf("%d instances, %v", len(all), err)
	}
}
