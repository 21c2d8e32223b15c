package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/testkit/need"

	"github.com/coder/websocket"
)

// openSession goes to a session's large view.
func (p *tab) openSession(id string) {
	p.t.Helper()
	p.until(`document.querySelector('[data-id="` + id + `"]')`)
	p.eval(`location.hash = "#/`+id+`"`, nil)
	p.until(`document.body.dataset.session === "` + id + `"`)
}

func TestLiveOutputAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "one", "cat")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("one").ID)
	w.Do("type", "one", "first words", "--enter")
	p.until(text + `.includes("first words")`)
	// One that is begun while the page is open is shown by itself.
	w.Do("new", "two", "cat")
	p.until(`document.querySelectorAll(".card").length === 2`)
	// What has ended leaves the active ones, but not the stage.
	w.Do("kill", "one")
	p.until(`document.getElementById("facts").innerText.includes("killed by")`)
	p.press("Escape")
	p.until(`document.querySelectorAll(".card").length === 1`)
	p.press("a")
	p.until(`document.querySelectorAll(".card").length === 2`)
	p.shoot("ended")
}

// Pixels tell that the canvas itself was drawn on, and where.
func TestCanvasIsDrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "box", "--cols", "40", "--rows", "10", "bash", "-c", `printf '\033[48;2;10;200;30m%40s\033[m\n\033[7m日本\033[m │█\n' ' '; cat`)
	w.Do("wait", "box", "--text", "█")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("box").ID)
	p.until(text + `.includes("█")`)
	ink, paper := [3]int{0xd5, 0xd9, 0xe0}, [3]int{0x16, 0x18, 0x1d}
	places := []struct {
		what     string
		col, row float64 // of a place in the picture
		rgb      [3]int  // somewhere in the cell's width at this height
		all      bool    // everywhere, rather
	}{
		{"a true colour over the whole row", 39, 0.5, [3]int{10, 200, 30}, true},
		{"the default background", 20, 5, paper, true},
		{"the background of a wide character, over its second half", 3, 1.03, ink, true},
		{"a full block, at its top", 6, 1.03, ink, true},
		{"a line that begins at the top", 5, 1.03, ink, false},
		{"a line that ends at the bottom", 5, 1.97, ink, false},
	}
	var at []string
	for _, place := range places {
		at = append(at, fmt.Sprintf("[%f, %f]", place.col, place.row))
	}
	var rows [][][3]int // the pixels of each cell, from left to right
	p.eval(`(() => { const c = document.getElementById("large"), w = c.width / 40, h = c.height / 10;
		const all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const pixel = (x, y) => [...all.slice(4 * (y * c.width + x), 4 * (y * c.width + x) + 3)];
		return [`+strings.Join(at, ", ")+`].map(([col, row]) => Array.from({ length: w }, (_, i) => pixel(col * w + i, Math.floor(row * h)))); })()`, &rows)
	for i, place := range places {
		n := 0
		for _, rgb := range rows[i] {
			if rgb == place.rgb {
				n++
			}
		}
		if n == 0 || place.all && n < len(rows[i]) {
			t.Errorf("%s: %d of %d pixels are %v: %v", place.what, n, len(rows[i]), place.rgb, rows[i])
		}
	}
	p.shoot("canvas")
}

// Thumbnails change many times a second: to ask the browser for their sizes each
// time would make it lay out the page as often.
func TestThumbnailsAskForNoSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "echo", "cat")
	p := w.browse(1200, 800)
	p.until(`denDrawn.thumbs > 0`)
	p.eval(`(() => { window.asked = 0;
		for (const size of ["clientWidth", "clientHeight", "offsetWidth", "offsetHeight"]) {
			const on = size.startsWith("client") ? Element.prototype : HTMLElement.prototype;
			const { get } = Object.getOwnPropertyDescriptor(on, size);
			Object.defineProperty(on, size, { get() { if (this.matches(".thumb canvas")) window.asked++; return get.call(this); } });
		} })()`, nil)
	for i := range 3 {
		word := fmt.Sprintf("words %d", i)
		w.Do("type", "echo", word, "--enter")
		p.until(`document.querySelector(".card .last").textContent === "` + word + `"`)
	}
	var asked int
	p.eval(`window.asked`, &asked)
	if asked != 0 {
		t.Errorf("the sizes of thumbnails were asked for %d times", asked)
	}
	// They follow the window all the same.
	fits := `(c => c.width === Math.round(c.clientWidth * devicePixelRatio) && c.height === Math.round(c.clientHeight * devicePixelRatio))(document.querySelector(".thumb canvas"))`
	p.until(fits)
	var before int
	p.eval(`document.querySelector(".thumb canvas").clientWidth`, &before)
	p.must(p.page.Size(within(t), 700, 800, 1))
	p.until(`document.querySelector(".thumb canvas").clientWidth !== ` + fmt.Sprint(before))
	p.until(fits)
}

func TestScrubShowsThePast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "bash")
	for i := range 4 {
		w.Do("run", "sh", fmt.Sprintf("clear; echo screen $((%d + 100))", i))
		w.Do("mark", "sh", fmt.Sprintf("mark %d", i))
	}
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("screen 103")`)
	p.until(`document.querySelectorAll("#cells li").length === 4`)
	// A cell's end is the screen that it left.
	p.eval(`document.querySelectorAll("#cells button")[1].click()`, nil)
	p.until(text + `.includes("screen 101") && document.body.dataset.time === "past"`)
	// What happens now does not disturb who looks at the past.
	w.Do("run", "sh", "clear; echo later")
	p.until(`document.querySelectorAll("#cells li").length === 5`)
	p.until(text + `.includes("screen 101")`)
	p.press("Home")
	p.until(`!` + text + `.includes("screen") && document.getElementById("line").getAttribute("aria-valuenow") === "0"`)
	// Step by step to the end, and back to now.
	p.press("ArrowRight", "ArrowRight")
	p.until(`Number(document.getElementById("line").getAttribute("aria-valuenow")) > 0`)
	p.press("Escape")
	p.until(text + `.includes("later") && document.body.dataset.time === "now"`)
	// The pointer on the line.
	var at struct{ X, Y, Width float64 }
	p.eval(`(r => ({X: r.x, Y: r.y + 20, Width: r.width}))(document.getElementById("line").getBoundingClientRect())`, &at)
	p.must(p.page.Click(within(t), at.X+1, at.Y))
	p.until(`document.body.dataset.time === "past" && !` + text + `.includes("later")`)
	p.press(" ")
	p.until(`document.body.dataset.time === "now" && ` + text + `.includes("later")`) // it played to the end
}

func TestKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, name := range []string{"alpha", "beta", "gamma"} {
		w.Do("new", name, "cat")
	}
	p := w.browse(1200, 800)
	p.until(`document.querySelectorAll(".card").length === 3`)
	focused := `document.activeElement.querySelector?.("b")?.textContent`
	p.press("ArrowRight")
	p.until(focused + ` === "gamma"`) // the newest is first
	p.press("ArrowRight")
	p.until(focused + ` === "beta"`)
	p.until(`getComputedStyle(document.activeElement).outlineStyle === "solid"`)
	p.press("Enter")
	p.until(`document.getElementById("stage-name").textContent === "beta" && document.body.dataset.view === "session"`)
	p.press("ArrowDown")
	p.until(`document.getElementById("stage-name").textContent === "alpha"`)
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet" && ` + focused + ` === "alpha"`)
	p.press("?")
	p.until(`document.getElementById("help").open`)
	p.press("Escape")
	p.until(`!document.getElementById("help").open`)
	p.press("/", "b", "e", "t")
	p.until(`document.querySelectorAll(".card").length === 1`)
	p.press("Escape")
	p.until(`document.querySelectorAll(".card").length === 3`)
	var before string
	p.eval(`document.documentElement.dataset.theme`, &before)
	p.press("t")
	p.until(`document.documentElement.dataset.theme !== "` + before + `"`)
}

// A browser that draws nothing gets three messages, and then the newest.
func TestSlowBrowserSkipsToTheNewest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "flood", "bash", "-c", "seq 1 20000; echo the end; cat")
	w.Do("wait", "flood", "--text", "the end")
	ctx := within(t)
	conn, _, err := w.dial(ctx, "", w.token())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	say := func(words string) {
		t.Helper()
		if err := conn.Write(ctx, websocket.MessageText, []byte(words)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func() (n uint64, all string) {
		t.Helper()
		_, raw, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ N uint64 }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m.N, string(raw)
	}
	id := w.Dir("flood").ID
	n, last := uint64(0), ""
	for !strings.Contains(last, id) { // only what is listed can be asked for
		n, last = hear()
		say(fmt.Sprintf(`{"ack":%d}`, n))
	}
	say(`{"large":"` + id + `"}`)
	for !strings.Contains(last, "the end") {
		n, last = hear()
	}
	acked := n
	say(fmt.Sprintf(`{"ack":%d}`, acked))
	// Each line is a change. Without an answer three messages come, and no more.
	for i := 0; n < acked+3; i++ {
		w.Do("type", "flood", fmt.Sprintf("before %d", i), "--enter")
		n, last = hear()
	}
	const lines = 20
	for i := range lines {
		w.Do("type", "flood", fmt.Sprintf("line %d", i), "--enter")
		w.Do("wait", "flood", "--text", fmt.Sprintf("line %d\nline %d", i, i))
	}
	full := n
	for !strings.Contains(last, fmt.Sprintf("line %d", lines-1)) {
		say(fmt.Sprintf(`{"ack":%d}`, n))
		if n, last = hear(); n-full > lines/2 { // listings may come between, and a server that lags
			t.Fatalf("%d messages, and still not the newest screen: %s", n-full, last)
		}
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "den.toml")
	config := "[workspace]\nname = \"crew\"\n\n[[agents]]\nname = \"writer\"\nstart_command = [\"cat\"]\nworktree = true\npre_start = [\"touch new\"]\n" +
		"[[agents]]\nname = \"zeal\"\nprovider = \"mine\"\napproval = \"bypass\"\n[providers.mine]\nstart_command = [\"cat\"]\nprompt_mode = \"none\"\napproval_modes = { bypass = {} }\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "begin"}} {
		if out, err := exec.Command(need.Program(t, "git"), append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	w := newWorld(t, file)
	w.Do("up", "-f", file)
	t.Cleanup(func() { w.Do("down", "-f", file) })
	p := w.browse(1200, 800)
	p.until(`/writer\s+\w*\s*running\s+running\s+den\/crew\/writer, 1 dirty/.test(document.getElementById("agents").innerText)`)
	p.until(`[...document.querySelectorAll("#agents tbody tr")].map((row) => row.querySelector(".bypass")?.textContent ?? "").join() === ",bypass"`)
	p.pictures("agents")
	// A narrow page has a line for an agent and one for its worktree, and none
	// that says again what is as wanted. Nothing stands beside the page.
	p.must(p.page.Size(within(t), 375, 700, 1))
	p.until(`/^writer\s+(\w+\s+)?running\s+den\/crew\/writer, 1 dirty/.test(document.querySelector("#agents tbody").innerText)`)
	p.until(`[document.documentElement, document.querySelector("#agents .scroll")].every((box) => box.scrollWidth <= box.clientWidth)`)
	p.must(p.page.Size(within(t), 1200, 800, 1))
	p.until(`document.querySelector("#agents a") !== null`) // the keeper may know the agent before its session is listed
	p.eval(`document.querySelector("#agents a").click()`, nil)
	p.until(`/agent writer\s*running\s*den\/crew\/writer, 1 dirty/.test(document.getElementById("stage-agent").innerText)`)
	p.pictures("agent")
}
