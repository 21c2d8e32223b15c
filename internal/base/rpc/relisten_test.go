package rpc_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/base/fault"
	"den/internal/base/rpc"
)

// A server whose socket was removed, with its directory, can be reached again,
// and clients that were connected stay connected.
func TestRelistenAfterRemoval(t *testing.T) {
	r := start(t, rpc.Limits{})
	old := r.dial()
	r.mustEcho(old)
	if err := r.server.Relisten(); err != nil {
		t.Fatalf("nothing was removed: %v", err)
	}
	for range 3 {
		if err := os.RemoveAll(filepath.Dir(r.path)); err != nil {
			t.Fatal(err)
		}
		if _, err := rpc.Dial(t.Context(), rpc.Unix(r.path), target); err == nil {
			t.Fatal("a removed socket can be dialled")
		}
		if err := r.server.Relisten(); err != nil {
			t.Fatal(err)
		}
		r.mustEcho(old)
		r.mustEcho(r.dial())
	}
	r.cancel()
	<-r.served
	if _, err := os.Lstat(r.path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if err := r.server.Relisten(); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if _, err := os.Lstat(r.path); !os.IsNotExist(err) {
		t.Errorf("a stopped server listens again: %v", err)
	}
}

// A file that somebody else put at the path is not touched, also not when the
// server ends.
func TestRelistenLeavesOthersAlone(t *testing.T) {
	r := start(t, rpc.Limits{})
	r.mustEcho(r.dial()) // it serves
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Relisten(); fault.KindOf(err) != fault.Busy {
		t.Errorf("%v", err)
	}
	r.cancel()
	<-r.served
	if data, err := os.ReadFile(r.path); err != nil || string(data) != "other" {
		t.Errorf("%q, %v", data, err)
	}
}

// A socket's path may come from a file that somebody else wrote.
func TestListenReplacesNothingButASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := rpc.Listen(path); err == nil {
		l.Close()
		t.Error("a file was replaced by a socket")
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "keep" {
		t.Errorf("%q, %v", raw, err)
	}
}
