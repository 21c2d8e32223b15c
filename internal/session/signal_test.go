package session_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/home"
)

// script writes a program that is run in the place of a new binary.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "den")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// endsBySignal waits for the host's end, and checks that it was an orderly one.
func endsBySignal(t *testing.T, s *session.Session) {
	t.Helper()
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := s.Dir.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	if m.Status != home.Destroyed || m.EndedBy == "" || m.FinalSeq == 0 || m.Ended.IsZero() {
		t.Errorf("the record says %s, ended by %q, final event %d", m.Status, m.EndedBy, m.FinalSeq)
	}
}

// A signal that comes when the new binary runs but cannot catch signals yet
// ends the session, and not the process.
func TestSignalBeforeTheNewBinaryCatchesIt(t *testing.T) {
	s, _ := start(t, session.Options{}, "sh", "-c", "echo up; exec cat")
	waitFor(t, s, "up")
	upgrade(t, s) // such a host hands over as the first one does
	binary := script(t, `kill -TERM $$; exec `+den+` "$@"`)
	if _, err := s.Upgrade(t.Context(), binary); err != nil {
		t.Log(err) // who asked may not get its answer from a host that ends
	}
	endsBySignal(t, s)
}

// At whatever moment of an upgrade a signal comes, the session ends in order.
func TestSignalDuringAnUpgrade(t *testing.T) {
	for range 10 {
		s, m := start(t, session.Options{}, "sh", "-c", "echo up; exec cat")
		waitFor(t, s, "up")
		asked := make(chan error, 1)
		go func() {
			_, err := s.Upgrade(t.Context(), den)
			asked <- err
		}()
		time.Sleep(rand.N(20 * time.Millisecond)) // any moment will do
		if err := syscall.Kill(m.HostPID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; err != nil {
			t.Log(fmt.Errorf("upgrade: %w", err)) // the end was first
		}
		endsBySignal(t, s)
	}
}
