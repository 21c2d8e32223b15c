package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"den/internal/testkit/need"
)

// flood prints a screenful twenty times a second, once a file is there: what
// fifty sessions can do at a time on a small machine. It starts no process.
const flood = `while ! [ -e "$0" ]; do read -t 0.2 _; done
i=0; while :; do i=$((i+1)); for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
printf '\033[3%dmline %d.%d of a flood that does not end\033[m\n' $(((i+n)%7)) $i $n; done; read -t 0.05 _; done`

// Every session that can be seen floods: the page still answers keys, shows
// what is typed elsewhere, and draws thumbnails. DEN_FLOODS sets how many flood;
// 'make floods' has fifty.
func TestFloodStaysUsable(t *testing.T) {
	need.Long(t, "floods take a quarter of a minute: run without -short")
	floods := 20
	if n := os.Getenv("DEN_FLOODS"); n != "" {
		var err error
		if floods, err = strconv.Atoi(n); err != nil {
			t.Fatalf("DEN_FLOODS: %v", err)
		}
	}
	w := newWorld(t, "")
	gate := filepath.Join(t.TempDir(), "go")
	for i := range floods {
		w.Do("new", fmt.Sprintf("flood-%02d", i), "--cols", "80", "--rows", "24", "--log-limit", "4MiB", "bash", "-c", flood, gate)
	}
	w.Do("new", "calm", "cat")
	p := w.browse(1440, 1400)
	p.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, floods+1))
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// All that can be seen is drawn, and drawn again.
	p.until(`[...document.querySelectorAll(".card canvas")].filter(c => c.width > 300).length >= 16`)
	p.openSession(w.Dir("calm").ID)
	for i := range 3 {
		w.Do("type", "calm", fmt.Sprintf("words %d", i), "--enter")
		p.until(fmt.Sprintf(text+`.includes("words %d")`, i))
	}
	p.press("?")
	p.until(`document.getElementById("help").open`)
	p.press("Escape")
	p.until(`!document.getElementById("help").open`)
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet"`)
	p.openSession(w.Dir("flood-07").ID)
	p.until(text + `.includes("of a flood")`)
	p.until(`document.getElementById("facts").innerText.includes("80×24")`)
	p.shoot("flood-session")
	p.press("Escape")
	p.until(`document.body.dataset.view === "fleet"`)
	p.shoot("flood")
}
