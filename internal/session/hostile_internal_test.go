package session

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/filelock"
	"den/internal/base/ident"
	"den/internal/session/home"
)

// A cell's record is a file that others may have written: neither its id nor a
// link beside it decides where an output goes.
func TestOutputIsKeptInTheSessionOnly(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(outside, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := home.Home{Path: t.TempDir()}
	d := root.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(d.Cells(), 0o700); err != nil {
		t.Fatal(err)
	}
	id := ident.New(time.Now())
	line := `{"v":2,"cell_id":"../../../../evil","status":"done","output":"1\n2\n3\n4","output_file":"` + outside + `"}` + "\n"
	if err := os.WriteFile(filepath.Join(d.Cells(), id+".jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s := In(d, Options{})
	r, err := s.Poll(id)
	if err != nil || r.CellID != id || r.OutputFile != "" {
		t.Fatalf("poll: %+v, %v", r, err)
	}
	if err := os.Symlink(outside, s.Cells().OutputPath(id)); err != nil {
		t.Fatal(err)
	}
	if r, err = s.cut(r, Run{MaxLines: 1}); err != nil || r.OutputFile != s.Cells().OutputPath(id) {
		t.Fatalf("cut: %+v, %v", r, err)
	}
	if raw, err := os.ReadFile(outside); err != nil || string(raw) != "keep" {
		t.Errorf("the file outside holds %q, %v", raw, err)
	}
	if raw, err := os.ReadFile(r.OutputFile); err != nil || string(raw) != "1\n2\n3\n4\n" {
		t.Errorf("the output holds %q, %v", raw, err)
	}
}

// A record that names somebody else's socket connects den to nobody.
func TestRecordChoosesNoSocket(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "agent.sock")
	l, err := net.Listen("unix", other)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	called := make(chan struct{})
	go func() {
		if _, err := l.Accept(); err == nil {
			close(called)
		}
	}()
	d := home.Home{Path: t.TempDir()}.Dir(ident.New(time.Now()))
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(&home.Manifest{ID: d.ID, Name: "x", Status: home.Running, Socket: other}); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(d.Path, "lock")) // as a host holds it
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := Dial(t.Context(), d, "test"); fault.KindOf(err) != fault.Denied {
		t.Errorf("dial: %v, want denied", err)
	}
	select {
	case <-called:
		t.Error("the other was called")
	default:
	}
}
