package host

import (
	"testing"
	"testing/synctest"
	"time"

	"den/internal/session/home"
)

// What stands in the line of an editor is told by what was typed and by what
// the screen shows; where neither tells, den is not sure.
func TestInputLine(t *testing.T) {
	const up, home, clear = "\x1b[A", "\x1b[H", "\x15"
	in := func(data string) step { return step{in: data} }
	out := func(data string) step { return step{out: data} }
	for _, c := range []struct {
		name   string
		steps  []step
		text   string
		unsure bool
	}{
		{"nothing", []step{out("$ ")}, "", false},
		{"text", []step{out("$ "), in("half "), out("half ")}, "half ", false},
		{"blanks", []step{out("$ "), in("  "), out("  ")}, "  ", true},
		{"text that wrapped", []step{out("$ "), in("a long text that wrapped"), out("a long text\r\nthat wrapped")}, "a long text that wrapped", false},
		{"text whose echo did not come yet", []step{out("$ "), in("half")}, "half", true},
		{"text that the program turned into another", []step{out("$ "), in("gc"), out("git commit")}, "git commit", true},
		{"keys that were commands", []step{out("$ "), in("jjj"), out("\r\nthree\r\n:")}, "", false},
		{"a key that was an answer", []step{out("Go on? "), in("y"), out("y\r\n$ ")}, "", false},
		{"an answer, and then a line", []step{out("$ "), rest, in("go\r"), out("go\r\nGo on? "), in("y"), out("y\r\n$ "), in(up), out("go")}, "go", true},
		{"an answer, and then a line that was emptied", []step{out("$ "), rest, in("go\r"), out("go\r\nGo on? "), in("y"), out("y\r\n$ "), in(up), out("go"), in(clear), out("\r\x1b[K$ ")}, "", false},
		{"a recalled line", []step{out("$ "), in(up), out("old")}, "old", true},
		{"a recalled line that went", []step{out("$ "), in(up), out("old"), in("\x1b[B"), out("\r\x1b[K$ ")}, "", false},
		{"a recalled line that was entered", []step{out("$ "), in(up), out("old"), in("\r"), out("\r\nwas\r\n$ ")}, "", false},
		{"a recalled line that will be entered", []step{out("$ "), in(up), out("old"), in("\r")}, "", true},
		{"keys before a line that was entered is gone", []step{out("$ "), in("foo"), out("foo"), in("\r"), in(up), out("\r\n$ foo")}, "", true},
		{"and in one piece", []step{out("$ "), in("foo\r" + up), out("foo\r\n$ foo")}, "foo", true},
		{"the cursor before the text", []step{out("$ "), in("half"), out("half"), in(home), out("\x1b[4D")}, "half", true},
		{"and Ctrl-U there", []step{out("$ "), in("half"), out("half"), in(home), out("\x1b[4D"), in(clear), out("\a")}, "half", true},
		{"a hint behind the cursor", []step{out("> Ask anything\x1b[12D"), in(up), out("\x1b[Kold"), in(clear), out("\r> Ask anything\x1b[12D")}, "", false},
		{"another hint than before", []step{out("> Ask anything\x1b[12D"), in(up), out("\x1b[Kold"), in(home), out("\x1b[3D")}, "old", true},
		{"the window gets the focus", []step{out("$ "), in("\x1b[I"), out("\r\nmore")}, "", false},
		{"a block of Python", []step{out(">>> "), rest, in("if 1:\r"), out("if 1:\r\n... ")}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newTestHost(t)
				for _, s := range c.steps {
					time.Sleep(time.Millisecond) // of the bubble: one comes after the other
					s.do(h.core)
				}
				h.core.mu.Lock()
				defer h.core.mu.Unlock()
				if text, unsure := h.core.inputLineLocked(false, false); text != c.text || unsure != c.unsure {
					t.Errorf("%q, unsure %v; want %q, %v", text, unsure, c.text, c.unsure)
				}
			})
		})
	}
}

// step is what happens at a terminal.
type step struct {
	in, out string
	rest    bool // the program is found to wait
}

var rest = step{rest: true}

func (s step) do(c *core) {
	switch {
	case s.in != "":
		c.recordInput(home.RecordAll, ttyMode{}, []byte(s.in), typist{foreign: true})
	case s.out != "":
		c.output([]byte(s.out))
	case s.rest:
		c.atRest(c.lastActivity(), false)
	}
}
