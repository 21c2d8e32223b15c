package acceptance

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"den/internal/chat/irc"
	"den/internal/testkit/need"
)

// A person in irssi, beside the example as it is: a mention is answered in the
// channel, ten at once by ten right answers, and what is said in private is
// answered in private. irssi runs in a session of den's.
func TestPersonInIrssi(t *testing.T) {
	need.Target(t, "DEN_TEST_IRC", "make test-irc")
	irssi := need.Program(t, "irssi")
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "team")
	w.env = append(w.env, "DEN_WORKSPACE="+filepath.Join(dir, "den.toml"))
	w.do("init", "--example", "team", dir)
	w.do("up")
	t.Cleanup(func() { w.try("down") })
	server, _ := w.ask("ps")["server"].(map[string]any)
	socket, _ := server["socket"].(string)
	_, line, found := strings.Cut(w.do("ps"), "chat: irssi ") // what a person is told to run
	if !found {
		t.Fatal("'den ps' does not say how to join")
	}
	witness := meet(t, socket, "witness", "echo") // who hears what others hear

	w.do(append([]string{"new", "person", "--cols", "100", "--rows", "60", "--", irssi, "--home=" + t.TempDir()}, strings.Fields(line)...)...)
	p := irssiUser{w}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("irssi's screen:\n%s\nwhat was said in the channel:\n%s", w.do("snapshot", "person"), witness)
		}
	})
	p.sees("Your host is irc.den.local")
	p.types("/set cmd_queue_speed 1msec") // it would hold back what is typed fast, for seconds
	p.sees("[flood]")
	p.types("/join #general")
	p.sees("Join to #general was synced")

	p.types("@echo say hello person")
	p.hears("echo", "hello person")
	for i := range 10 {
		p.types(fmt.Sprintf("@echo say rapid-%d", i))
	}
	for i := range 10 {
		p.hears("echo", fmt.Sprintf("rapid-%d", i))
	}
	for i := range 10 {
		answer := fmt.Sprintf("rapid-%d", i)
		if n := witness.count(func(e irc.Event) bool { return e.From.Nick == "echo" && e.Target == "#general" && e.Text == answer }); n != 1 {
			t.Errorf("%s was answered %d times", answer, n)
		}
	}

	p.types("/query echo")
	p.types("say between us")
	p.hears("echo", "between us")
	p.types("/window goto #general")
	p.sees("@echo say rapid-9")
	if screen := w.do("snapshot", "person"); strings.Contains(screen, "between us") {
		t.Errorf("the channel has what was said in private:\n%s", screen)
	}
	if n := witness.count(func(e irc.Event) bool { return strings.Contains(e.Text, "between us") }); n != 0 {
		t.Errorf("others heard %d messages that were private", n)
	}
	p.types("/quit")
	w.do("wait", "person", "--exit", "-t", "1m")
}

// irssiUser is somebody at irssi, in the session person.
type irssiUser struct{ w *world }

func (p irssiUser) types(line string) {
	p.w.t.Helper()
	p.w.do("type", "person", line, "--enter")
}

func (p irssiUser) sees(text string) {
	p.w.t.Helper()
	p.w.do("wait", "person", "--text", text, "-t", "1m")
}

// hears waits until irssi shows that somebody said this.
func (p irssiUser) hears(nick, text string) {
	p.w.t.Helper()
	p.w.do("wait", "person", "--regex", `(?m)<.?`+nick+`> `+regexp.QuoteMeta(text)+`\s*$`, "-t", "1m")
}
