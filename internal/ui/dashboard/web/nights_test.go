package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
)

// night makes an agent whose mind is a script, and has it tick so often.
func (w *world) night(name string, ticks int) {
	w.T.Helper()
	w.Do("kernel", "init", name, "--example")
	for range ticks {
		w.Do("kernel", "tick", name)
	}
}

// past indexes ticks that took place before, with every kind of end.
func (w *world) past(name string, ticks int) {
	w.T.Helper()
	repo, err := datarepo.Open(filepath.Join(w.Getenv("XDG_DATA_HOME"), "den", "kernel", name), w.T.TempDir())
	if err != nil {
		w.T.Fatal(err)
	}
	defer repo.Close()
	reasons := []plan.Reason{plan.Normal, plan.Normal, plan.Normal, plan.Normal, plan.Limit, plan.Normal, plan.Fatal, plan.Normal, plan.Interrupted, "", plan.ContextFull, plan.Exhausted}
	for n := 1; n <= ticks; n++ {
		began := time.Now().Add(-time.Duration(ticks-n+1) * 80 * time.Second)
		i := history.NewWriter(repo, history.Tick{Number: n, Began: began, Runner: "script", Causes: []plan.Cause{{Kind: plan.ByWake, Reason: "look around"}}, Transcript: datarepo.TickLog(n)})
		err := i.Begin()
		if reason := reasons[n%len(reasons)]; reason != "" && err == nil {
			err = i.End(plan.State{Outcome: plan.Outcome{Reason: reason}, Turns: 2, CostUSD: 0.01, LastText: "I have looked."}, began.Add(time.Duration(10+n*7%50)*time.Second), time.Time{})
		}
		if err != nil {
			w.T.Fatal(err)
		}
	}
	if err := repo.Write("system/state.json", fmt.Appendf(nil, `{"tick_count": %d}`, ticks)); err != nil {
		w.T.Fatal(err)
	}
}

func TestNightsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.night("demo", 1)
	c := w.visitor()
	base := w.root() + "api/kernel/"
	if r, body := get(t, stranger(t), base+"demo/ticks"); r.StatusCode != http.StatusUnauthorized || strings.Contains(body, "tick\"") {
		t.Errorf("without a token: %s\n%s", r.Status, body)
	}
	for _, test := range []struct{ path, has string }{
		{"demo/ticks", `"tick":1,"state":"ended"`},
		{"demo/ticks?n=1", `"reason":"normal"`},
		{"demo/ticks?before=1", `{"ticks":[]}`},
		{"demo/ticks/1", `"name":"0-1","tty":0,"command":"bash"`},
		{"demo/ticks/1/transcript", `"text":"Tick 1 starting. Call login() to begin."`},
		{"demo/ticks/1/transcript?from=1", `"tool":"login"`},
		{"demo/ticks/1/terminals/0/timeline", `"cells":[]`},
		{"demo/ticks/1/terminals/0-1/at", `"cols":120`},
		{"demo/ticks/1/terminals/0/at?t=0", `"full":true`},
		{"demo/ticks/1/terminals/0/step?seq=1&t=0&dir=1", `"full":true`},
		{"demo/ticks/1/terminals/0/recording", `{"version":3`},
		{"demo/ticks/1/terminals/0/screenshot?format=svg", "<svg"},
	} {
		if r, body := get(t, c, base+test.path); r.StatusCode != http.StatusOK || !strings.Contains(body, test.has) {
			t.Errorf("%s: %s %.400s", test.path, r.Status, body)
		}
	}
	for _, test := range []struct {
		path   string
		status int
	}{
		{"other/ticks", http.StatusNotFound},
		{"demo/ticks/2", http.StatusNotFound},
		{"demo/ticks/0", http.StatusBadRequest},
		{"demo/ticks/..%2f..%2fx", http.StatusBadRequest},
		{"demo/ticks?n=many", http.StatusBadRequest},
		{"demo/ticks/1/terminals/7/at", http.StatusNotFound},
		{"demo/ticks/1/terminals/..%2f0/at", http.StatusNotFound},
		{"..%2fdemo/ticks", http.StatusBadRequest},
	} {
		r, body := get(t, c, base+test.path)
		var said struct {
			Error struct{ Kind, Message string }
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil || r.StatusCode != test.status || said.Error.Message == "" {
			t.Errorf("%s: %s %s", test.path, r.Status, body)
		}
	}
}

// The page shows a timeline; a tick opens with its transcript and its terminals.
func TestNightOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.night("demo", 2)
	p := w.browse(1300, 850)
	p.until(`document.querySelector('.night[data-name="demo"] .count')?.innerText === "2 ticks"`)
	p.until(`document.querySelector('.days').getAttribute("aria-valuetext").startsWith("tick 2, normal")`)
	p.press("n", "ArrowLeft", "ArrowLeft", "Enter")
	p.until(`location.hash === "#/kernel/demo/1" && document.body.dataset.view === "tick"`)
	p.until(`document.getElementById("facts").innerText.includes("normal")`)
	p.until(`document.querySelectorAll("#terminals a").length === 2`)
	p.until(`document.getElementById("attach").hidden`) // of a recording
	p.until(`document.getElementById("transcript").innerText.includes("Tick 1 starting. Call login() to begin.")`)
	p.until(`document.getElementById("transcript").innerText.includes("It is tick 1, and I have looked at the clock.")`)
	p.until(text + `.includes("date")`)
	// An entry shows the terminal that its tool was used on, at its moment: a wait
	// has answered when what was typed could be seen.
	p.eval(`[...document.querySelectorAll('#transcript li[data-kind="use"]')].findLast(x => x.querySelector(".kind").textContent === "wait").querySelector(".when").click()`, nil)
	p.until(`document.body.dataset.time === "past" && location.hash.startsWith("#/kernel/demo/1/0-1")`)
	p.until(text + `.includes("journal.md")`)
	p.until(`document.querySelector("#transcript li.current")`)
	// Keys go to other terminals, other ticks, and back.
	p.press("Escape", "[")
	p.until(`location.hash === "#/kernel/demo/1/0" && document.body.dataset.time === "now"`)
	p.press("ArrowDown")
	p.until(`location.hash === "#/kernel/demo/2" && document.getElementById("stage-name").innerText.includes("tick 2")`)
	p.until(`document.getElementById("transcript").innerText.includes("It is tick 2")`)
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet"`)
	// What happens meanwhile is shown by itself.
	w.Do("kernel", "pause", "demo", "a test")
	p.until(`document.querySelector(".night .state").innerText.startsWith("paused")`)
	w.Do("kernel", "resume", "demo")
	w.Do("kernel", "notify", "demo", "the mail is here")
	p.until(`document.querySelector(".night .pending").innerText.includes("notification")`)
	w.Do("kernel", "tick", "demo")
	p.until(`document.querySelector(".night .count").innerText === "3 ticks"`)
	p.until(`document.querySelector('.days').getAttribute("aria-valuetext").startsWith("tick 3, normal")`)
}

// A click on a bar opens its tick, and one that is not there says so.
func TestClickOnATick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.night("demo", 0)
	w.past("demo", 30)
	p := w.browse(1300, 850)
	p.until(`document.querySelector('.days').getAttribute("aria-valuetext").startsWith("tick 30")`)
	p.press("n", "ArrowLeft") // the newest, whose place the tip shows
	p.until(`!document.querySelector(".days .tip").hidden`)
	var at struct{ X, Y float64 }
	p.eval(`(() => { const r = document.querySelector(".days").getBoundingClientRect(); const d = [...document.querySelectorAll(".night")][0];
		const c = document.querySelector(".days canvas"), ctx = c.getContext("2d"), y = 20 * devicePixelRatio;
		const row = ctx.getImageData(0, y, c.width, 1).data;
		let x = 0; // the last pixel that is green
		for (let i = 0; i < c.width; i++) { const [a, b, g] = row.slice(4 * i, 4 * i + 3); if (b > a + 40 && b > g + 40) x = i; }
		return { x: r.left + x / devicePixelRatio, y: r.top + 20 }; })()`, &at)
	p.must(p.page.Click(within(t), at.X, at.Y))
	p.until(`/^#\/kernel\/demo\/(29|30)$/.test(location.hash)`)
	p.until(`document.getElementById("note").innerText.includes("No terminal was opened in this tick.")`)
	p.until(`document.getElementById("transcript-note").innerText.includes("no transcript")`)
	p.expected = "status of 404"
	p.eval(`location.hash = "#/kernel/demo/99"`, nil)
	p.until(`document.getElementById("note").innerText.includes("the last one is 30")`)
}

// TestLookAtNights leaves pictures of the timelines and of a tick.
func TestLookAtNights(t *testing.T) {
	if *shots == "" {
		need.Apart(t, "pictures for people: go test -run Look -shots DIR")
	}
	w := newWorld(t, "")
	w.night("demo", 2)
	w.night("night-owl", 0)
	w.past("night-owl", 500)
	w.night("resting", 0)
	w.past("resting", 9)
	w.Do("kernel", "pause", "resting", "the disk is being moved")
	w.Do("kernel", "notify", "night-owl", "the mail is here")
	w.Do("kernel", "trigger", "night-owl", "the build is done")
	w.Do("kernel", "wake", "night-owl", "--at", time.Now().Add(20*time.Minute).Format("2006-01-02T15:04"), "look around")
	w.Do("kernel", "wake", "demo", "--every", "6h", "look again")
	w.Do("new", "build", "--cols", "100", "--rows", "30", "bash")
	w.Do("run", "build", "clear; "+chart)
	p := w.browse(1200, 800)
	p.until(`document.querySelectorAll(".night").length === 3 && [...document.querySelectorAll(".days")].every(d => d.getAttribute("aria-valuetext") !== "no tick")`)
	p.until(`document.querySelector(".card canvas")?.width > 200`)
	p.press("n", "ArrowLeft")
	p.pictures("nights")
	p.press("Escape")
	p.eval(`location.hash = "#/kernel/demo/2"`, nil)
	p.until(text + `.includes("date")`)
	p.until(`document.getElementById("transcript").innerText.includes("I have written it down.")`)
	p.eval(`[...document.querySelectorAll('#transcript li[data-kind="use"]')].find(x => x.innerText.includes("date")).querySelector(".when").click()`, nil)
	p.until(`document.body.dataset.time === "past"`)
	p.pictures("tick")
	p.eval(`location.hash = "#/kernel/night-owl/482"`, nil)
	p.until(`document.getElementById("stage-name").innerText.includes("482")`)
	p.shoot("tick-unknown")
}
