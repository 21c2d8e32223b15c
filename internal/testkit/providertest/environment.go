package providertest

import (
	"encoding/json"
	"os"
	"strings"
)

var environmentCases = []testCase{
	{"Size", size},
}

// given is what the helper was started with.
type given struct {
	Cwd      string   `json:"cwd"`
	Env      []string `json:"env"`
	Terminal bool     `json:"terminal"`
	Cols     int      `json:"cols"`
	Rows     int      `json:"rows"`
}

func (g given) getenv(key string) (string, bool) {
	for _, kv := range g.Env {
		if k, v, _ := strings.Cut(kv, "="); k == key {
			return v, true
		}
	}
	return "", false
}

func (w *world) given(ready string) given {
	w.Helper()
	var g given
	w.ok("decode the report", json.Unmarshal([]byte(w.appears(ready)), &g))
	return g
}

// outer tells of the terminal and the session that the test itself runs in.
var outer = []string{secret, "TMUX", "TMUX_PANE", "STY", "DEN_HOST"}

func environment(w *world) {
	for _, k := range outer[1:] {
		w.Setenv(k, "of another session")
	}
	w.ok("make directory", os.Mkdir(w.path("a dir"), 0o755))
	c, ready := w.config("report")
	c.WorkDir = w.path("a dir")
	want := map[string]string{"PLAIN": "value", "ODD": "a=b  $HOME 'q' \"d\" ; # %s\nline\t", "EMPTY": "", "ÜNI": "größe", "LANG": "C.UTF-8", "PROVIDERTEST_OWN": "1"}
	c.Env = want
	w.startConfig(w.p, "w", c)
	g := w.given(ready)
	w.equal("working directory", g.Cwd, c.WorkDir)
	for k, v := range want {
		got, ok := g.getenv(k)
		if !ok || got != v {
			w.Errorf("%s = %q (there: %v), want %q", k, got, ok, v)
		}
	}
	for _, k := range outer {
		if k == "TMUX" || k == "TMUX_PANE" { // a place may be a tmux of its own
			if v, _ := g.getenv(k); v == "of another session" {
				w.Errorf("%s came from outside", k)
			}
			continue
		}
		if v, ok := g.getenv(k); ok {
			w.Errorf("%s=%s came from outside", k, v)
		}
	}
	for _, k := range []string{"PATH", "HOME"} {
		if v, _ := g.getenv(k); v == "" {
			w.Errorf("there is no %s", k)
		}
	}
	if !w.lacks(Terminal) {
		w.equal("on a terminal", g.Terminal, true)
		if v, _ := g.getenv("TERM"); v == "" || v == "dumb" {
			w.Errorf("TERM = %q", v)
		}
	}
}

func size(w *world) {
	w.needs(Terminal)
	c, ready := w.config("report")
	w.startConfig(w.p, "default", c)
	g := w.given(ready)
	if g.Cols != 120 || g.Rows != 40 {
		w.Errorf("size = %dx%d, want 120x40", g.Cols, g.Rows)
	}
}
