package keeper_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/keeper"
)

// at returns the place of a workspace of the test's own.
func at(t *testing.T) keeper.StateDir {
	t.Helper()
	p, err := keeper.At(filepath.Join(t.TempDir(), "den.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	return p
}

// One keeper at a time; the lock goes with who holds it.
func TestLock(t *testing.T) {
	p := at(t)
	first, err := p.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Lock(); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), p.Config) {
		t.Errorf("a second keeper: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := p.Lock()
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	second.Close()
}

// The directory is closed to others, and no part of the project.
func TestMake(t *testing.T) {
	p := at(t)
	if fi, err := os.Stat(p.Path); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", fi, err)
	}
	if text, err := os.ReadFile(filepath.Join(p.Path, ".gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(p.Path, ".gitignore"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Make(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(p.Path, ".gitignore")); err != nil || string(text) != "mine" {
		t.Errorf("a file that was there: %q, %v", text, err)
	}
}

// A workspace is the same one by every path, and each file has a state
// directory of its own; the names that den looks for are one file's.
func TestAt(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"den.toml", "den.yaml", "other.toml"} {
		if err := os.WriteFile(filepath.Join(real, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"real/den.toml": "real/.den", "link/den.toml": "real/.den", "real/den.yaml": "real/.den", "link/other.toml": "real/.den/other.toml",
	} {
		s, err := keeper.At(filepath.Join(dir, file))
		if err != nil || s.Path != filepath.Join(dir, want) {
			t.Errorf("%s: %s, %v", file, s.Path, err)
		}
	}
}

func TestRecord(t *testing.T) {
	p := at(t)
	if _, err := p.Load(); fault.KindOf(err) != fault.NotRunning {
		t.Errorf("no record: %v", err)
	}
	if err := p.Save(keeper.Record{PID: 7, Socket: "/s"}); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Load(); err != nil || r.PID != 7 || r.Socket != "/s" || r.V == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]fault.Kind{`{"v":99}`: fault.Protocol, `{`: fault.Storage} {
		if err := os.WriteFile(filepath.Join(p.Path, "keeper.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Load(); fault.KindOf(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A half line at the end never was an event; damage before it is told.
func TestScanEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	whole := `{"seq":1,"type":"a"}` + "\n" + `{"seq":2,"type":"b","agent":"x"}` + "\n"
	scan := func(text string) (seqs []uint64, size int64, err error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		size, err = keeper.ScanEvents(path, func(e keeper.Event) error { seqs = append(seqs, e.Seq); return nil })
		return seqs, size, err
	}
	if seqs, size, err := scan(whole + `{"seq":3,"ty`); err != nil || len(seqs) != 2 || size != int64(len(whole)) {
		t.Errorf("a torn line: %v, %d, %v", seqs, size, err)
	}
	if _, _, err := scan("garbage\n" + whole); fault.KindOf(err) != fault.Storage || fault.HintOf(err) == "" {
		t.Errorf("damage: %v", err)
	}
	if size, err := keeper.ScanEvents(path+".no", nil); err != nil || size != 0 {
		t.Errorf("no file: %d, %v", size, err)
	}
}
