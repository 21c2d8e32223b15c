package host

import (
	"testing"

	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// zsh tells that it puts text into the next line, before it shows that line: a
// cell that begins in between must not run it.
func TestPushedTextIsKnownBeforeItIsShown(t *testing.T) {
	const end, pushed, prompt = "\x1b]133;D;0;den=T\x1b\\", "\x1b]133;Z;den=T\x1b\\", "\x1b]133;A;den=T\x1b\\$ \x1b]133;B;den=T\x1b\\"
	for output, want := range map[string]bool{
		end + prompt:          false,
		end + pushed + prompt: true,
		end + "\x1b]133;Z;den=other\x1b\\" + prompt: false,
	} {
		c := &core{term: vt.New(vt.Config{Cols: 40, Rows: 5}), shell: cell.ShellMarks{Token: "T"}}
		c.feedLocked([]byte(output))
		if c.Stray.Pending != want || c.shell.Last != 'B' {
			t.Errorf("%q: pending %v, at %q", output, c.Stray.Pending, c.shell.Last)
		}
	}
}
