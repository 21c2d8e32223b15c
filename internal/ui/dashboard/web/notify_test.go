package web_test

import (
	"fmt"
	"testing"
)

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
