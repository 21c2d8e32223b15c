package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"den/internal/screen/eventlog"
)

// A search finds what any session has shown, now or earlier; a hit leads to its
// moment, and all of a session are on its timeline.
func TestSearchOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "first", "bash")
	w.Do("run", "first", "printf '\\033[31mpanic\\033[m: one\\n'")
	w.Do("run", "first", "clear")
	w.Do("run", "first", "echo fine; echo PANIC: two")
	w.Do("run", "first", "clear")
	w.Do("new", "second", "bash")
	w.Do("run", "second", "echo nothing of note")
	p := w.browse(1200, 800)
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.press("f", "p", "a", "n", "i", "c", "Enter")
	p.until(`document.getElementById("find-state").textContent.startsWith("2 sessions searched, ")`)
	p.until(`[...document.querySelectorAll("#found .hit code")].some((c) => c.textContent === "panic: one")`)
	p.until(`[...document.querySelectorAll("#found .in b")].map((b) => b.textContent).join() === "first" && location.hash === "#/?find=panic"`)
	p.pictures("search")
	c := w.visitor()
	address := w.listed(c, "first")
	_, found := get(t, c, address+"/search?q=panic")
	var links []int64
	p.eval(`[...document.querySelectorAll("#found .hit")].map((a) => Math.round(a.href.split("t=")[1] * 1e9))`, &links)
	for _, at := range links {
		if !strings.Contains(found, fmt.Sprintf(`"elapsed_ns":%d,`, at)) {
			t.Errorf("a hit leads to %d: %s", at, found)
		}
	}
	p.eval(`[...document.querySelectorAll("#found .hit")].find((a) => a.textContent.includes("panic: one")).click()`, nil)
	p.until(text + `.includes("panic: one") && document.body.dataset.time === "past"`)
	p.until(`/“panic”: \d+ hits/.test(document.getElementById("hits-what").textContent)`)
	p.pictures("hits")
	p.press(">", ">", ">", ">")
	p.until(text + `.includes("PANIC: two")`)
	p.press("<", "<", "<", "<")
	p.until(text + `.includes("panic") && !` + text + `.includes("PANIC: two")`) // the line itself, or the code that is typed before it
	// Back leads to the search; Escape to live, and then to the search, too.
	p.press("Escape", "Escape")
	p.until(`document.body.dataset.view === "fleet" && !document.getElementById("search").hidden && location.hash === "#/?find=panic"`)
	p.eval(`document.getElementById("find-close").click()`, nil)
	p.until(`document.getElementById("search").hidden && location.hash === "#/"`)

	for query, want := range map[string]int{"q=panic": 200, "q=x": 400, "": 400, "q=panic&before=soon": 400} {
		if r, body := get(t, c, address+"/search?"+query); r.StatusCode != want {
			t.Errorf("%s: %s %s", query, r.Status, body)
		}
	}
	if r, _ := get(t, stranger(t), address+"/search?q=panic"); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: %s", r.Status)
	}
}

// Two moments are compared line by line, and what is between them is exported.
func TestCompareAndClip(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "60", "--rows", "12", "cat")
	for _, word := range []string{"alpha", "beta", "gamma"} {
		w.Do("type", "sh", word, "--enter")
		w.Do("wait", "sh", "--text", word+"\n"+word)
		w.Do("mark", "sh", word)
	}
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("gamma")`)
	p.until(`document.getElementById("line").dataset.labels`)
	p.press("Home")
	p.until(`!` + text + `.includes("alpha")`)
	p.press("p")
	p.until(`document.body.dataset.pin === "yes" && document.getElementById("compare-what").textContent.includes("the same text")`)
	p.press("End")
	changes := `[...document.querySelectorAll("#changes li")].map((x) => x.textContent).join("|")`
	p.until(changes + ` === "+alpha|+alpha|+beta|+beta|+gamma|+gamma"`)
	p.until(`document.getElementById("compare-what").textContent.includes("0 lines went, 6 lines came")`)
	p.pictures("compare")
	// The middle, and on to the end: only what is new there. The clip has no more.
	p.press("p")
	p.eval(fmt.Sprintf(`location.hash = "#/%s?t=%f"`, w.Dir("sh").ID, w.marked("sh", "beta").Seconds()), nil)
	p.until(text + `.includes("alpha") && !` + text + `.includes("gamma")`)
	p.press("p", "End")
	p.until(`!` + changes + `.includes("+alpha") && ` + changes + `.includes("+gamma")`)
	p.until(`document.getElementById("film-what").textContent.startsWith("Clip ")`)
	var clip string
	p.eval(`document.querySelector("[data-film=cast]").href`, &clip)
	if !strings.Contains(clip, "&from=") || !strings.Contains(clip, "&to=") {
		t.Fatalf("the clip is %s", clip)
	}
	_, all := get(t, w.visitor(), clip[:strings.Index(clip, "&from")])
	r, body := get(t, w.visitor(), clip)
	if r.StatusCode != http.StatusOK || !strings.Contains(body, "gamma") || len(body) >= len(all) {
		t.Errorf("the clip: %s\n%s\nthe whole:\n%s", r.Status, body, all)
	}
	p.press("p")
	p.until(`document.body.dataset.pin === undefined && document.getElementById("film-what").textContent === "Recording"`)
}

// A link on a screen is opened after a question that shows where it leads.
func TestLinksAreAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "60", "--rows", "6", "bash", "-c", `printf '\033]8;;https://example.com/behind\033\\harmless words\033]8;;\033\\\nsee https://example.com/plain, too\n\033]8;;javascript:alert(1)\033\\bad\033]8;;\033\\\n'; cat`)
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("bad")`)
	p.eval(`window.opened = []; window.open = (...a) => { window.opened.push(a.join(" ")); }`, nil)
	click := func(col, row float64) {
		t.Helper()
		var at struct{ X, Y float64 }
		p.eval(fmt.Sprintf(`(r => ({ X: r.left + r.width * %f / 60, Y: r.top + r.height * %f / 6 }))(document.getElementById("text").getBoundingClientRect())`, col+0.5, row+0.5), &at)
		p.must(p.page.Click(within(t), at.X, at.Y))
	}
	asked := `document.getElementById("leave").open && document.getElementById("link-address").textContent`
	click(3, 0)
	p.until(asked + ` === "https://example.com/behind" && window.opened.length === 0`)
	p.pictures("link")
	p.press("Enter") // the answer that is at hand is no
	p.until(`!document.getElementById("leave").open && window.opened.length === 0`)
	click(10, 1)
	p.until(asked + ` === "https://example.com/plain"`)
	p.eval(`document.getElementById("link-open").click()`, nil)
	p.until(`!document.getElementById("leave").open && window.opened.join() === "https://example.com/plain _blank noopener,noreferrer"`)
	click(1, 2) // a script is no link
	click(30, 3)
	p.until(`!document.getElementById("leave").open`)
}

func TestCopyAttach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.eval(`Object.defineProperty(navigator.clipboard, "writeText", { value: async (text) => { window.copied = text; } })`, nil)
	p.eval(`document.getElementById("attach").click()`, nil)
	p.until(`window.copied === "den attach sh" && document.getElementById("note").textContent === "Copied: den attach sh"`)
	w.Do("kill", "sh")
	p.until(`document.getElementById("attach").hidden`) // there is nothing to attach to
}

// marked is when a mark was set.
func (w *world) marked(session, label string) time.Duration {
	w.T.Helper()
	log, err := eventlog.Open(w.Dir(session).Log())
	if err != nil {
		w.T.Fatal(err)
	}
	for ev, err := range log.Events(0) {
		if err != nil {
			w.T.Fatal(err)
		}
		if ev.Code == eventlog.Mark && string(ev.Data) == label {
			return ev.Time
		}
	}
	w.T.Fatalf("no mark %s", label)
	return 0
}
