package session_test

import (
	"strings"
	"testing"

	"den/internal/base/poll"
	"den/internal/session"
	"den/internal/session/wire"
)

// atPrompt waits until the shell waits for a command, and returns where the log
// is then.
func atPrompt(t *testing.T, s *session.Session) uint64 {
	t.Helper()
	prompt := "$ "
	r, err := s.Wait(t.Context(), wire.Wait{Ready: true, Text: &prompt, Timeout: patience})
	if err != nil || !r.Matched {
		t.Fatalf("%+v, %v", r, err)
	}
	return r.Seq
}

// Input under conditions is sent while they hold, all of it in order, and else
// none of it.
func TestInputIf(t *testing.T) {
	t.Parallel()
	s, m := start(t, session.Options{}, "bash", "--norc")
	seen := atPrompt(t, s)
	f, err := s.Foreground(t.Context())
	if err != nil || len(f.Programs) != 1 || f.Programs[0].Name != "bash" || f.PID != m.PID || f.Reader != m.PID || f.Group != m.PID || f.Ready.State != "ready" {
		t.Fatalf("%+v, %v", f, err)
	}
	shell := f.Programs[0]
	in := wire.InputIf{
		Inputs: []wire.Input{text("echo b"), {Keys: []string{"Left"}}, text("a"), {Keys: []string{"Enter"}}},
		After:  &seen, Program: &shell,
	}
	sent, err := s.InputIf(t.Context(), in)
	if err != nil || sent.Refused != "" || sent.Seq <= seen {
		t.Fatalf("%+v, %v", sent, err)
	}
	line := `(?m)^ab$`
	if r, err := s.Wait(t.Context(), wire.Wait{Regex: &line, After: sent.Seq, Timeout: patience}); err != nil || !r.Matched {
		t.Fatalf("%+v, %v", r, err)
	}
	atPrompt(t, s)
	never := []wire.Input{text("echo never"), {Keys: []string{"Enter"}}}
	if r, err := s.InputIf(t.Context(), wire.InputIf{Inputs: never, After: &seen}); err != nil || r.Refused != wire.RefusedOutput || r.Seq <= seen {
		t.Errorf("behind output: %+v, %v", r, err)
	}
	other := shell
	other.Started++
	now := atPrompt(t, s)
	if r, err := s.InputIf(t.Context(), wire.InputIf{Inputs: never, After: &now, Program: &other}); err != nil || r.Refused != wire.RefusedProgram {
		t.Errorf("for another process: %+v, %v", r, err)
	}
	if _, err := s.InputIf(t.Context(), wire.InputIf{}); err == nil {
		t.Error("nothing was taken for input")
	}
	cat := text("cat")
	cat.Enter = true
	if _, err := s.Input(t.Context(), cat); err != nil {
		t.Fatal(err)
	}
	err = poll.Until(t.Context(), func() (bool, error) {
		f, err := s.Foreground(t.Context())
		return len(f.Programs) == 1 && f.Programs[0].Name == "cat" && f.Programs[0].Parent == shell.PID, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.InputIf(t.Context(), wire.InputIf{Inputs: never, Program: &shell}); err != nil || r.Refused != wire.RefusedProgram {
		t.Errorf("for the shell behind a program: %+v, %v", r, err)
	}
	shot, err := s.Snapshot(t.Context(), session.Now(), session.All)
	if err != nil || strings.Contains(shot.Screen.PlainText(), "never") {
		t.Errorf("it was sent: %s, %v", shot.Screen.PlainText(), err)
	}
}

// A server that waits for the network is not like a program that computes, or
// sleeps.
func TestOutside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		command []string
		outside bool
	}{
		{"a pipe", []string{"sh", "-c", `cat "$0"`, fifo(t)}, true},
		{"a pause", []string{"sleep", "1000"}, false},
		{"a computation", []string{"sh", "-c", "while :; do :; done"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := start(t, session.Options{}, c.command...)
			err := poll.Until(t.Context(), func() (bool, error) {
				f, err := s.Foreground(t.Context())
				return f.Ready.State == "busy" && f.Ready.Outside == c.outside, err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
