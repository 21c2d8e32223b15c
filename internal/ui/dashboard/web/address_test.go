package web_test

import (
	"fmt"
	"testing"
)

// The moment and the filter stand in the address: it can be opened elsewhere, and
// back and forward go through what was looked at.
func TestAddressHasMomentAndFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "bash")
	for i := range 3 {
		w.Do("run", "sh", fmt.Sprintf("clear; echo screen $((%d + 100))", i))
	}
	w.Do("new", "other", "cat")
	w.Do("new", "past", "true")
	w.Do("wait", "past", "--exit")
	p := w.browse(1200, 800)
	cards := func(n int) { p.t.Helper(); p.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, n)) }
	cards(2)
	p.press("a")
	cards(3)
	p.until(`location.hash === "#/?all=1"`)
	p.press("/", "o", "t", "h")
	cards(1)
	p.until(`location.hash === "#/?all=1&q=oth"`)
	p.eval(`history.back()`, nil) // typing is one step
	cards(3)
	p.until(`document.getElementById("filter").value === "" && location.hash === "#/?all=1"`)
	p.eval(`history.forward()`, nil)
	cards(1)
	p.until(`document.getElementById("filter").value === "oth"`)
	p.press("Escape")
	cards(3)

	p.openSession(w.Dir("sh").ID)
	p.until(`document.querySelectorAll("#cells li").length === 3`)
	p.eval(`document.querySelectorAll("#cells button")[0].click()`, nil)
	p.until(text + `.includes("screen 100") && /\?t=[0-9.]+$/.test(location.hash)`)
	var first string
	p.eval(`location.href`, &first)
	p.eval(`document.querySelectorAll("#cells button")[1].click()`, nil)
	p.until(text + `.includes("screen 101") && location.href !== "` + first + `"`)
	p.eval(`history.back()`, nil)
	p.until(text + `.includes("screen 100") && location.href === "` + first + `"`)
	p.eval(`history.back()`, nil)
	p.until(text + `.includes("screen 102") && document.body.dataset.time === "now" && location.hash === "#/` + w.Dir("sh").ID + `"`)
	p.eval(`history.forward()`, nil)
	p.until(text + `.includes("screen 100") && document.body.dataset.time === "past"`)
	// The filter is as it was when the session was opened.
	p.press("Escape", "Escape")
	p.until(`document.body.dataset.view === "fleet" && location.hash === "#/?all=1"`)
	cards(3)

	// The address alone leads to the moment.
	p.must(p.page.Navigate(within(t), "about:blank"))
	p.must(p.page.Navigate(within(t), first))
	p.until(text + `.includes("screen 100") && document.body.dataset.time === "past" && location.href === "` + first + `"`)
}

// An address that was opened is gone to, also if the moment that was shown before
// is written down just then: the browser tells of a new address a while later.
func TestNewAddressIsNotOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "cat")
	w.Do("type", "sh", "words", "--enter")
	w.Do("wait", "sh", "--text", "words\nwords")
	p := w.browse(1200, 800)
	id := w.Dir("sh").ID
	p.openSession(id)
	p.until(text + `.includes("words")`)
	p.eval(fmt.Sprintf(`import("/assets/address.js").then(({ stands }) => {
		const real = window.setTimeout;
		let due;
		window.setTimeout = (f) => { due = f; return 0; };
		stands(() => null);
		window.setTimeout = real;
		location.hash = "#/%s?t=0.001";
		due();
	})`, id), nil)
	p.until(`document.body.dataset.time === "past"`)
}
