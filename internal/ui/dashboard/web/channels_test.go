package web_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/chat/irc/ircd/history"
	"den/internal/keeper"
)

// chat is the log of a workspace's chat server, as that writes it.
type chat struct {
	t   *testing.T
	log *history.Log
}

func newChat(t *testing.T, file string) *chat {
	t.Helper()
	place, err := keeper.At(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := history.Open(place.ChatHistory(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &chat{t, l}
}

func (c *chat) say(where, nick, command, text string) {
	c.t.Helper()
	if _, err := c.log.Append(history.Record{Conversation: where, Command: command, Source: nick + "!u@h", Account: nick, Target: where, Text: text}); err != nil {
		c.t.Fatal(err)
	}
}

// A channel is shown as a conversation, and goes on as it does.
func TestChannelOnThePage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "den.toml")
	if err := os.WriteFile(file, []byte("[workspace]\nname = \"crew\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newChat(t, file)
	for i := range 150 {
		c.say("#build", []string{"ada", "grace"}[i/10%2], "PRIVMSG", fmt.Sprintf("message %d", i))
	}
	c.say("#build", "ada", "TOPIC", "green builds")
	c.say("#quiet", "grace", "PRIVMSG", "\x01ACTION waves\x01")
	c.say("ada", "grace", "PRIVMSG", "a private word")
	c.say("#build", "grace", "PRIVMSG", "look <b>here</b> \u202e")
	w := newWorld(t, file)
	p := w.browse(1200, 800)
	p.until(`[...document.querySelectorAll("#channel-list b")].map((b) => b.textContent).join() === "#build,#quiet"`)
	p.pictures("channels")
	p.eval(`document.querySelector("#channel-list a").click()`, nil)
	said := `[...document.querySelectorAll("#messages li")].map((x) => x.querySelector("b").textContent + ": " + x.querySelector("p").textContent)`
	p.until(said + `.at(-1) === "grace: look <b>here</b> \\u{202e}" && location.hash === "#/channel/%23build" && document.title.startsWith("#build")`)
	p.until(said + `.includes("ada: set the topic: green builds") && ` + said + `.length === 100`)
	p.pictures("channel")
	// What was said last stays in sight when the page becomes narrow.
	box := `document.getElementById("messages").parentElement`
	p.must(p.page.Size(within(t), 375, 500, 1))
	p.until(`innerWidth === 375 && ` + box + `.scrollTop > 0 && ` + box + `.scrollTop + ` + box + `.clientHeight >= ` + box + `.scrollHeight - 2`)
	p.must(p.page.Size(within(t), 1200, 800, 1))
	p.eval(`document.getElementById("channel-more").click()`, nil)
	p.until(said + `[0] === "ada: message 0" && ` + said + `.length === 152 && document.getElementById("channel-more").hidden`)
	c.say("#build", "ada", "NOTICE", "and on it goes")
	p.until(said + `.at(-1) === "ada: and on it goes" && ` + said + `.length === 153`)
	p.eval(`location.hash = "#/channel/%23quiet"`, nil)
	p.until(said + `.join() === "grace: waves" && document.querySelector("#messages li").dataset.kind === "does"`)
	p.must(p.page.Size(within(t), 375, 700, 1))
	p.eval(`history.back()`, nil)
	p.until(said + `.length === 100`)
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet" && document.getElementById("channel").hidden`)

	visitor := w.visitor()
	for _, path := range []string{"api/channels", "api/channels/ada", "api/channels/%23build"} {
		r, body := get(t, visitor, w.root()+path)
		if r.StatusCode != http.StatusOK || strings.Contains(body, "a private word") {
			t.Errorf("%s: %s %.300s", path, r.Status, body)
		}
		if r, _ := get(t, stranger(t), w.root()+path); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without the token: %s", path, r.Status)
		}
	}
}
