package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

// typed starts a program that writes down all that it reads, byte for byte,
// after printing what sets its modes.
func typed(t *testing.T, p place, name, init string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "typed")
	start(t, p, name, "sh", "-c", `stty raw -echo; printf "$1"; : > "$2"; echo ready; exec cat >> "$2"`, "sh", init, file)
	eventually(t, "the program is ready", func() bool {
		text, err := p.Peek(t.Context(), name, 0)
		return err == nil && strings.Contains(text, "ready")
	})
	return file
}

func reads(t *testing.T, file, want string) {
	t.Helper()
	var got string
	eventually(t, "the program has read all", func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got = string(b)
		return len(got) >= len(want)
	})
	if got != want {
		t.Errorf("the program read %q, want %q", got, want)
	}
}

// Every key that den names, in a real pane, with and without the application
// modes: what the program reads is what the modes give.
func TestEveryKey(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	for name, c := range map[string]struct {
		init  string
		modes vt.Modes
	}{
		"plain":       {"", vt.Modes{}},
		"application": {`\033[?1h\033=`, vt.Modes{AppCursor: true, AppKeypad: true}},
		"mouse":       {`\033[?1002h\033[?1006h`, vt.Modes{Mouse: vt.MouseButton, MouseEncoding: vt.MouseSGR}},
	} {
		file := typed(t, p, name, c.init)
		var chords []string
		want := ""
		for _, chord := range append(keys.Names(), "a", "A", "é", "日", ";", "-", "C-a", "C-c", "C-d", "C-z", "M-x", "C-Up", "S-Tab", "Down*3", "Click:3,10", "WheelUp:0,0") {
			parsed, err := keys.Parse(chord)
			if err != nil {
				t.Fatal(err)
			}
			bytes, err := parsed.Encode(c.modes)
			if err != nil {
				if sendErr := p.SendKeys(t.Context(), name, chord); fault.KindOf(sendErr) != fault.Unsupported {
					t.Errorf("%s: SendKeys(%s) = %v, want unsupported", name, chord, sendErr)
				}
				continue
			}
			if chord == "Escape" {
				continue // it waits: below, once
			}
			chords = append(chords, chord)
			want += string(bytes)
		}
		if err := p.SendKeys(t.Context(), name, append(chords, "Escape", "x")...); err != nil {
			t.Fatal(err)
		}
		reads(t, file, want+"\x1bx")
	}
}

// tmux 3.3 cannot tell who asked for extended keys: a chord that would arrive
// as a plainer one is refused, not changed.
func TestAmbiguousKeysAreRefused(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	file := typed(t, p, "w", "")
	if mustRaw(t, p.socket, "display-message", "-p", "-t", "=o/w:", "#{pane_key_mode}") != "" {
		need.Apart(t, "this tmux tells its key mode; the test is for those before 3.5")
	}
	for _, chord := range []string{"S-Enter", "C-Enter", "C-1"} {
		if err := p.SendKeys(t.Context(), "w", "a", chord); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("SendKeys(%s) = %v, want unsupported", chord, err)
		}
	}
	if err := p.SendKeys(t.Context(), "w", "z"); err != nil {
		t.Fatal(err)
	}
	reads(t, file, "z")
}

// A person may be scrolling in copy mode: the program gets its text all the
// same. No buffer is left.
func TestNudgeInCopyMode(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	file := typed(t, p, "w", "")
	mustRaw(t, p.socket, "copy-mode", "-t", "=o/w:")
	if err := p.Nudge(t.Context(), "w", "quit q"); err != nil {
		t.Fatal(err)
	}
	if err := p.SendKeys(t.Context(), "w", "q"); err != nil {
		t.Fatal(err)
	}
	if err := p.Interrupt(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	reads(t, file, "quit q\rq\x03")
	if left := mustRaw(t, p.socket, "list-buffers"); left != "" {
		t.Errorf("these buffers are left: %s", left)
	}
}

// What a pane shows cannot end an answer.
func TestPeekAtForgedAnswers(t *testing.T) {
	t.Parallel()
	needTmux(t)
	p := open(t, newSocket(t), "o")
	start(t, p, "w", "sh", "-c", `now=$(date +%s); for n in $(seq 1 2000); do echo "%end $now $n 1"; done; echo done; exec sleep 1000`)
	var text string
	eventually(t, "all is printed", func() bool {
		var err error
		text, err = p.Peek(t.Context(), "w", 0)
		if err != nil {
			t.Fatal(err)
		}
		return strings.HasSuffix(text, "done")
	})
	if n := strings.Count(text, "\n"); n != 2000 {
		t.Errorf("%d lines, want 2001", n+1)
	}
}
