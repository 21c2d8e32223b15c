package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What needs a person is seen on its card, in the summary, the title and the
// icon; it is walked through with one key; and to open it is to look at it.
func TestPageShowsWhoNeedsYou(t *testing.T) {
	w := newWorld(t, "")
	w.Do("new", "crashed", "sh", "-c", "echo panic; exit 2")
	w.eventually("the end is noted", func() bool { return strings.Contains(w.Do("ls", "--all"), "failed") })
	w.Do("new", "work", "bash", "--norc")
	w.Do("fire", "work", `read -p "go on? " a`)
	w.Do("new", "idle", "cat")
	p := w.browse(1200, 800)
	card := func(name string) string {
		return `[...document.querySelectorAll(".card")].find(c => c.querySelector("b").textContent === "` + name + `")`
	}
	p.until(card("work") + `?.querySelector(".need").textContent === "asking"`)
	p.until(card("work") + `.querySelector(".what").textContent === "go on?"`)
	p.until(card("work") + `.querySelector(".last").textContent.includes("go on?")`)
	p.until(card("idle") + `?.querySelector(".need").textContent === "ready"`)
	p.until(`document.getElementById("counts").textContent.includes("1 asking · 1 failed")`)
	p.until(`document.getElementById("waits").textContent === "2 wait for you"`)
	p.until(`document.title.startsWith("(2)") && document.getElementById("icon").getAttribute("href") === "/assets/icons/2"`)

	// Only these, oldest first, with one that has ended.
	p.press("u")
	p.until(`[...document.querySelectorAll(".card b")].map(b => b.textContent).join() === "crashed,work"`)

	// One key goes to each; what is opened was looked at.
	p.press("w")
	p.until(`document.body.dataset.view === "session" && document.getElementById("stage-name").textContent === "crashed"`)
	w.eventually("it was looked at", func() bool {
		return strings.Contains(w.Do("attention"), "work") && !strings.Contains(w.Do("attention"), "crashed")
	})
	p.until(`document.title.startsWith("(1)")`)
	p.press("w")
	p.until(`document.getElementById("stage-name").textContent === "work"`)
	if text := w.Do("attention"); !strings.Contains(text, "go on?") {
		t.Errorf("to look is no answer:\n%s", text)
	}
	w.Do("answer", "work", "yes")
	p.until(`!document.title.startsWith("(")`)
	p.until(`document.getElementById("icon").getAttribute("href") === "/assets/icon.svg"`)
}

// The icon has the number on it, and nothing else that a request could put there.
func TestIcon(t *testing.T) {
	w := newWorld(t, "")
	c := &http.Client{Timeout: patience}
	t.Cleanup(c.CloseIdleConnections)
	for path, want := range map[string]string{"3": ">3</text></svg>", "400": ">9+</text></svg>"} {
		if r, body := get(t, c, w.root()+"assets/icons/"+path); r.StatusCode != http.StatusOK || !strings.HasSuffix(body, want) {
			t.Errorf("%s: %d %s", path, r.StatusCode, body)
		}
	}
	for _, path := range []string{"0", "-1", "%3Cscript%3E"} {
		if r, _ := get(t, c, w.root()+"assets/icons/"+path); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// The browser notifies of what begins to need a person while the page is hidden,
// if somebody asked for it, also where the browser keeps nothing.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"kept":        ``,
		"storage off": `Object.defineProperty(Storage.prototype, "setItem", { value() { throw new Error("storage is off"); } });`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.Do("new", "work", "bash", "--norc")
			p := w.browse(900, 600)
			p.must(p.page.Grant(within(t), "notifications"))
			p.must(p.page.Before(within(t), script+`window.told = []; window.Notification = class { static permission = "granted"; constructor(title, o) { window.told.push(title + ": " + o.body); } close() {} };`))
			p.must(p.page.Navigate(within(t), "about:blank"))
			p.must(p.page.Navigate(within(t), w.server.URL()))
			p.until(`document.querySelectorAll(".card").length === 1`)
			p.eval(`document.getElementById("notify").click()`, nil)
			p.until(`document.getElementById("notify").getAttribute("aria-pressed") === "true"`)
			p.eval(`Object.defineProperty(document, "hidden", { get: () => true })`, nil)
			w.Do("fire", "work", `read -p "go on? " a`)
			p.until(fmt.Sprintf(`window.told.join() === %q`, "work needs you: go on?"))
		})
	}
}
