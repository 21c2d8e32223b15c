package acceptance

import (
	"strings"
	"testing"
)

// ls, ps and doctor print in colour on a terminal, and nowhere else.
func TestColourOnATerminal(t *testing.T) {
	w := newWorld(t)
	w.do("new", "work", "cat")
	workspace := w.agentThatNeverListens()
	for _, verb := range []struct {
		args  []string
		green string
	}{
		{[]string{"ls"}, "running"},
		{[]string{"ps", "-f", workspace}, "running"},
		{[]string{"doctor"}, "ok  "},
	} {
		t.Run(verb.args[0], func(t *testing.T) {
			mine := *w
			mine.t = t
			sgr := "\x1b[32m" + verb.green + "\x1b[0m"
			shows := func(want bool, env string, extra ...string) {
				t.Helper()
				p := mine.with(env).sit(200, 24, append(append([]string{w.den}, verb.args...), extra...)...)
				<-p.gone
				if p.wrote("\x1b[") != want || want && !p.wrote(sgr) {
					t.Errorf("%s %v: %q", env, extra, p.raw)
				}
			}
			shows(true, "NO_COLOR=")
			shows(true, "NO_COLOR=1", "--color=always")
			shows(false, "NO_COLOR=1")
			shows(false, "TERM=dumb")
			shows(false, "TERM=xterm", "--color=never")
			shows(false, "TERM=xterm", "-j")
			shows(false, "TERM=xterm", "-j", "--color=always")
			if out := w.do(verb.args...); strings.Contains(out, "\x1b") {
				t.Errorf("into a pipe: %q", out)
			}
			if out := w.do(append(verb.args, "--color=always")...); !strings.Contains(out, sgr) {
				t.Errorf("--color=always into a pipe: %q", out)
			}
		})
	}
	if _, stderr, code := w.try("ls", "--color", "pink"); code != 2 || !strings.Contains(stderr, "auto, always or never") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
