package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/session"
	"den/internal/session/wire"
	"den/internal/testkit/need"
)

// readers are programs that read lines and repeat them: by the kernel's echo,
// or by line editors of their own. GATE in a line stands for a file that the
// program waits for before it prints.
var readers = []struct {
	command []string
	line    string
	edits   bool // a line editor repeats lines that were sent ahead
	marks   bool // the repetition is known by more than a prompt: see docs/rough-edges.md
}{
	{[]string{"bash", "--norc"}, "echo BE''GUN; read x < GATE; echo NEEDLE", true, true},
	{[]string{"zsh", "-f"}, "echo BE''GUN; read x < GATE; echo NEEDLE", true, true},
	{[]string{"fish"}, "echo BE''GUN; read x < GATE; echo NEEDLE", true, true},
	{[]string{"dash"}, "echo BE''GUN; read x < GATE; echo NEEDLE", false, true},
	{[]string{"python3", "-q"}, "print('BE''GUN'); _ = open('GATE').read(); print('NEEDLE')", true, false},
	{[]string{"sh", "-c", `echo "> "; while read file word; do echo BEGUN; read y < $file; echo "$word"; done`}, "GATE NEEDLE", false, true},
}

// The echo of a line is not what the program prints, however it is typed.
func TestWaitsDoNotMatchTheEcho(t *testing.T) {
	t.Parallel()
	for _, p := range readers {
		t.Run(p.command[0], func(t *testing.T) {
			t.Parallel()
			need.Program(t, p.command[0])
			s, _ := start(t, session.Options{}, p.command...)
			prompt := `[#$>] ?$`
			if r, err := s.Wait(t.Context(), wire.Wait{Regex: &prompt, Timeout: patience}); err != nil || !r.Matched {
				t.Fatalf("no prompt: %+v, %v", r, err)
			}

			t.Run("a line", func(t *testing.T) {
				gate := gateFile(t)
				seq := send(t, s, line(gated(p.line, gate)))
				onlyThePrinted(t, s, seq, "NEEDLE", gate)
			})
			t.Run("a line in parts", func(t *testing.T) {
				gate := gateFile(t)
				in := gated(p.line, gate)
				seq := send(t, s, text(in[:len(in)-5]))
				waitFor(t, s, in[:len(in)-5])
				send(t, s, line(in[len(in)-5:]))
				onlyThePrinted(t, s, seq, "NEEDLE", gate)
			})
			t.Run("a line ahead of the prompt", func(t *testing.T) {
				first, second := gateFile(t), gateFile(t)
				begun := send(t, s, line(gated(p.line, first)))
				waitAfter(t, s, begun, "BEGUN")
				seq := send(t, s, line(gated(p.line, second)))
				waitFor(t, s, second)
				unmatched(t, s, seq, second)
				release(t, first)
				if p.edits { // it is shown twice: as it was typed, and at the prompt
					pattern := `(?s)` + second + `.*` + second
					if r, err := s.Wait(t.Context(), wire.Wait{Regex: &pattern, Timeout: patience}); err != nil || !r.Matched {
						t.Fatalf("%+v, %v", r, err)
					}
				}
				if p.marks {
					unmatched(t, s, seq, second)
				}
				release(t, second)
			})
		})
	}
}

// gateFile is a fifo with a short name, which fits in a row.
func gateFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "f")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gated is a line whose program waits for the file.
func gated(line, file string) string {
	return strings.ReplaceAll(line, "GATE", file)
}

// onlyThePrinted checks that a wait with a baseline does not match while only
// the echo is on the screen, and matches when the program prints the text.
func onlyThePrinted(t *testing.T, s *session.Session, seq uint64, needle, gate string) {
	t.Helper()
	matched := make(chan *wire.WaitResult, 1)
	go func() {
		r, err := s.Wait(t.Context(), wire.Wait{Text: &needle, After: seq, Timeout: patience})
		if err != nil {
			t.Error(err)
		}
		matched <- r
	}()
	waitFor(t, s, needle)
	unmatched(t, s, seq, needle)
	select {
	case r := <-matched:
		t.Fatalf("matched before it was printed: %+v", r)
	default:
	}
	release(t, gate)
	if r := <-matched; r != nil && !r.Matched {
		t.Errorf("not matched: %+v", r)
	}
}

// unmatched checks that the screen does not show the text after the baseline.
func unmatched(t *testing.T, s *session.Session, seq uint64, needle string) {
	t.Helper()
	r, err := s.Wait(t.Context(), wire.Wait{Text: &needle, After: seq, Timeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Matched {
		t.Errorf("%q matched after event %d: %+v", needle, seq, r)
	}
}

func waitAfter(t *testing.T, s *session.Session, seq uint64, needle string) {
	t.Helper()
	r, err := s.Wait(t.Context(), wire.Wait{Text: &needle, After: seq, Timeout: patience})
	if err != nil || !r.Matched {
		t.Fatalf("waiting for %q after event %d: %+v, %v", needle, seq, r, err)
	}
}

func send(t *testing.T, s *session.Session, in wire.Input) uint64 {
	t.Helper()
	seq, err := s.Input(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// cat prints what it reads: the same text is on the screen twice, and the
// second is the match.
func TestWaitMatchesWhatCatRepeats(t *testing.T) {
	t.Parallel()
	s, _ := start(t, session.Options{}, "cat")
	for range 20 {
		seq := send(t, s, line("NEEDLE"))
		waitAfter(t, s, seq, "NEEDLE")
	}
}

// Text that stood before the baseline does not match, whatever is printed
// later, nor after the session has ended.
func TestWaitsDoNotMatchOlderText(t *testing.T) {
	t.Parallel()
	gate := fifo(t)
	s, _ := start(t, session.Options{}, "sh", "-c", "echo NEEDLE; read x; echo later; read y < "+gate)
	waitFor(t, s, "NEEDLE")
	seq := send(t, s, line("go"))
	waitAfter(t, s, seq, "later")
	unmatched(t, s, seq, "NEEDLE")
	unmatched(t, s, seq, "go")
	release(t, gate)
	if err := s.WaitGone(t.Context()); err != nil {
		t.Fatal(err)
	}
	unmatched(t, s, seq, "NEEDLE")
	unmatched(t, s, seq, "go")
	waitAfter(t, s, seq, "later")
}
