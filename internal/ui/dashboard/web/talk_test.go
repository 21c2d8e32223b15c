package web_test

import (
	"fmt"
	"strings"
	"testing"
)

// item is an expression for the entries of a conversation of one kind.
func item(kind string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('#turns [data-kind="%s"]')]`, kind)
}

// The turns of an agent are a conversation on the page, which follows, and of
// which every moment has an address.
func TestConversationOnThePage(t *testing.T) {
	t.Parallel()
	w := newTeam(t)
	answer := w.ask("coder", "run touch wanted")
	id := w.open("coder").ID
	p := w.browse(1200, 800)
	// The table of agents says who asks what, and leads there.
	p.until(`[...document.querySelectorAll(".agents tbody tr")].some((r) => r.dataset.need === "asking" && /coder/.test(r.innerText) && /touch wanted/.test(r.innerText))`)
	p.pictures("team")
	p.eval(`document.querySelector(".agents .talk-link").click()`, nil)
	p.until(`document.getElementById("talk-name").textContent === "coder" && document.title.includes("coder")`)
	p.until(item("prompt") + `[0]?.innerText.includes("you ask") && ` + item("prompt") + `[0].innerText.includes("run touch wanted")`)
	p.until(item("asked") + `[0]?.innerText.includes("` + id + `") && ` + item("ended") + `.length === 0`)
	w.Do("approvals", "deny", id, "--why", "not that one")
	p.until(item("asked") + `[0].querySelector(".decided").innerText.includes("denied by") && ` + item("asked") + `[0].innerText.includes("not that one")`)
	p.until(item("said") + `[0]?.innerText.includes("did not") && ` + item("ended") + `[0]?.innerText.includes("done")`)
	w.expect(answer, "did not")

	// A message from the page is a turn of the same conversation.
	p.eval(`document.getElementById("talk-text").focus()`, nil)
	p.must(p.page.Call(within(t), "Input.insertText", map[string]any{"text": "<b>hello</b>"}, nil))
	p.press("Enter")
	p.until(item("prompt") + `.length === 2 && ` + item("prompt") + `[1].innerText.includes("a message") && ` + item("prompt") + `[1].innerText.includes("<b>hello</b>")`)
	p.until(item("said") + `[1]?.innerText.includes("what?")`)
	p.pictures("conversation")

	// A moment has an address.
	p.eval(item("said")+`[0].querySelector(".when").click()`, nil)
	p.until(`/#\/talk\/coder\?n=\d+$/.test(location.hash) && document.querySelector("#turns .current").innerText.includes("did not")`)
	var address string
	p.eval(`location.href`, &address)
	p.must(p.page.Navigate(within(t), "about:blank"))
	p.must(p.page.Navigate(within(t), address))
	p.until(`document.querySelector("#turns .current")?.innerText.includes("did not")`)
	p.press("End")
	p.until(`location.hash === "#/talk/coder" && !document.querySelector("#turns .current")`)
	p.press("ArrowUp", "ArrowUp")
	p.until(`document.querySelector("#turns .current").innerText.includes("run touch wanted")`)
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet" && document.getElementById("talk").hidden`)

	// Of an agent in a terminal there is none, and the page says so.
	p.expected = "status of 404"
	p.eval(`location.hash = "#/talk/tui"`, nil)
	p.until(`/no conversation of 'tui' is kept/.test(document.getElementById("talk-note").textContent)`)

	text := w.Do("agent", "turns", "coder")
	for _, want := range []string{"> ask: run touch wanted", "? asks " + id, "? " + id + " denied", "did not", "> nudge: <b>hello</b>", "what?"} {
		if !strings.Contains(text, want) {
			t.Errorf("'agent turns' lacks %q:\n%s", want, text)
		}
	}
	if r, _ := get(t, stranger(t), w.root()+"api/turns?agent=coder"); r.StatusCode != 401 {
		t.Errorf("without the token: %s", r.Status)
	}
}
