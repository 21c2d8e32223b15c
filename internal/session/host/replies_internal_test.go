package host

import (
	"testing"
	"time"

	"den/internal/screen/vt"
	"den/internal/session/cell"
)

// TestFateOfReplies is the table of who gets the terminal's replies.
func TestFateOfReplies(t *testing.T) {
	const da = "\x1b[?62;4;22;52c"
	marks := func(last byte) cell.ShellMarks { return cell.ShellMarks{Token: "t", Last: last, Ends: 2} }
	inner := func(last byte) cell.ShellMarks { return cell.ShellMarks{Token: "t", Last: last, Inner: true} }
	silent := func(last byte) cell.ShellMarks { return cell.ShellMarks{Token: "t", Last: last, Silent: true} }
	for _, c := range []struct {
		name   string
		shell  cell.ShellMarks
		editor cell.Editor
		held   heldReplies
		by     asker
		now    time.Duration
		want   fate
	}{
		{name: "a program in raw mode", shell: marks('C'), by: asker{group: 7}, want: send},
		{name: "a program without marks", by: asker{own: true}, want: send},
		{name: "canonical mode", shell: marks('C'), by: asker{canonical: true, group: 7}, want: hold},
		{name: "canonical mode for long", shell: marks('C'), by: asker{canonical: true, group: 7}, now: lineHold + 1, want: drop},
		{name: "raw mode behind canonical mode", shell: marks('C'), held: heldReplies{Line: true, Group: 7}, by: asker{group: 7}, want: send},
		{name: "another program in raw mode", shell: marks('C'), held: heldReplies{Line: true, Group: 7}, by: asker{group: 8}, want: drop},
		{name: "the shell asked, another program is in raw mode", shell: marks('C'), held: heldReplies{Line: true}, by: asker{group: 8}, want: send},
		{name: "a command of the shell itself", shell: marks('C'), by: asker{own: true}, want: send},
		{name: "the shell's mark may be on its way", shell: marks('C'), by: asker{own: true, pending: true}, want: hold},
		{name: "the same for long", shell: marks('C'), held: heldReplies{Raw: 1}, by: asker{own: true, pending: true}, now: 2 * markHold, want: send},
		{name: "before the prompt", shell: marks('D'), by: asker{own: true}, want: send},
		{name: "at the prompt", shell: marks('B'), by: asker{own: true}, want: drop},
		{name: "at the prompt of an inner shell", shell: inner('B'), by: asker{group: 7}, want: drop},
		{name: "behind ssh", shell: inner('C'), by: asker{group: 7}, want: send},
		{name: "an inner shell on this terminal", shell: inner('C'), held: heldReplies{Line: true, Group: 7}, by: asker{group: 7}, want: hold},
		{name: "fish at its prompt", shell: marks('B'), editor: cell.EditorAsks, by: asker{own: true}, want: send},
		{name: "fish behind a command", shell: marks('C'), editor: cell.EditorAsks, by: asker{own: true}, want: hold},
		{name: "a program of fish", shell: marks('C'), editor: cell.EditorAsks, by: asker{group: 7}, want: send},
		{name: "busybox behind a command", shell: silent('I'), by: asker{own: true}, want: hold},
		{name: "a program of busybox", shell: silent('I'), by: asker{group: 7}, want: send},
		{name: "busybox at its prompt", shell: silent('B'), by: asker{own: true}, want: drop},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &core{clock: func() time.Duration { return c.now }, term: vt.New(vt.Config{Cols: 20, Rows: 4}), shell: c.shell, editor: c.editor}
			k.Replies = c.held
			k.Replies.Data = []byte(da)
			if got := k.fateLocked(c.by); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestRepliesBeforeAMark checks which replies the marks of a chunk drop.
func TestRepliesBeforeAMark(t *testing.T) {
	mark := func(kind string) string { return "\x1b]133;" + kind + ";den=t\x1b\\" }
	for _, c := range []struct {
		name, out, want string
		editor          cell.Editor
	}{
		{name: "asked and ended", out: mark("C") + "\x1b[c\x1b[5n" + mark("D;0")},
		{name: "asked, and no end yet", out: mark("C") + "\x1b[5n", want: "\x1b[0n"},
		{name: "asked behind the end", out: mark("C") + "\x1b[c" + mark("D;0") + "\x1b[5n", want: "\x1b[0n"},
		{name: "asked before the prompt", out: mark("C") + mark("D;0") + "\x1b[5n" + mark("A") + mark("B")},
		{name: "asked before the prompt of fish", editor: cell.EditorAsks, out: mark("C") + "\x1b[c" + mark("D;0") + "\x1b[5n" + mark("A") + mark("B"), want: "\x1b[0n"},
		{name: "asked at the prompt", out: mark("A") + mark("B") + "\x1b[5n"},
		{name: "asked at the prompt of fish", editor: cell.EditorAsks, out: mark("A") + mark("B") + "\x1b[5n", want: "\x1b[0n"},
		{name: "a mark of another program", out: mark("C") + "\x1b[5n\x1b]133;D;0\x1b\\", want: "\x1b[0n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, whole := range []bool{true, false} {
				k := &core{clock: func() time.Duration { return 0 }, term: vt.New(vt.Config{Cols: 20, Rows: 4}), editor: c.editor}
				k.shell = cell.ShellMarks{Token: "t", Ends: 1}
				for out := []byte(c.out); len(out) > 0; {
					n := len(out)
					if !whole {
						n = 1
					}
					k.feedLocked(out[:n])
					k.takeRepliesLocked()
					out = out[n:]
				}
				if got := string(k.Replies.Data); got != c.want {
					t.Errorf("whole %v: held %q, want %q", whole, got, c.want)
				}
			}
		})
	}
}
