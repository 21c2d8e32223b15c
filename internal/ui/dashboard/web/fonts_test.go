package web_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page shows screens in the fonts of den's pictures, whatever the machine
// has: letters at once, rarer characters when they are first there, and none
// that nobody needs.
func TestPageHasTheFontsOfPictures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	symbols, err := filepath.Abs("../../../screen/render/testdata/symbols.bin")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "signs")
	if err := os.WriteFile(file, []byte("plain \x1b[1mbold\x1b[m letters"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Do("new", "plain", "sh", "-c", "cat "+file+"; read x; printf '\\033[H\\033[?2027h'; cat "+symbols+"; read y")
	w.Do("wait", "plain", "--text", "letters")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("plain").ID)
	loaded := `[...document.fonts].filter(f => f.status === "loaded").map(f => f.family + " " + f.weight)`
	p.until(text + `.includes("letters")`)
	p.until(loaded + `.includes("den 700")`)
	var before []string
	p.eval(loaded, &before)
	if slices.ContainsFunc(before, func(f string) bool { return strings.HasPrefix(f, "den-") }) {
		t.Errorf("letters alone need %q", before)
	}
	w.Do("keys", "plain", "Enter")
	p.until(text + `.includes("Missing")`)
	for _, family := range []string{"den-1", "den-2", "den-3", "den-9"} { // letters, Han, signs, icons
		p.until(loaded + `.includes("` + family + ` 400")`)
	}
	p.until(`document.fonts.status === "loaded"`)
	p.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
	var failed int
	p.eval(`[...document.fonts].filter(f => f.status === "error").length`, &failed)
	if failed != 0 {
		t.Errorf("%d fonts are broken", failed)
	}
	p.shoot("fonts")
}

// A character that no font has is a box with its number, which nobody takes for a
// character: two of them look different.
func TestPageDrawsWhatNoFontHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Do("new", "sh", "--cols", "20", "--rows", "3", "sh", "-c", `printf '\315\270'; read x; printf '\033[H\033[2J\315\271'; read y`) // U+0378, U+0379
	p := w.browse(1200, 800)
	p.openSession(w.Dir("sh").ID)
	p.until(text + `.includes("\u0378")`)
	p.until(`document.fonts.status === "loaded"`)
	p.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil)
	p.eval(`window.before = document.getElementById("large").toDataURL(); void 0`, nil)
	var lacking []bool
	p.eval(`import("/assets/tofu.js").then(({ lacks }) => ["\u0378", "\u0379", "a", "é", "─", "\u00a0", "\u2003", "\u3000", "\u2800"].map((c) => lacks(c, getComputedStyle(document.documentElement).getPropertyValue("--screen"), 0)))`, &lacking)
	if !slices.Equal(lacking, []bool{true, true, false, false, false, false, false, false, false}) {
		t.Errorf("no font has %v", lacking)
	}
	p.shoot("tofu")
	w.Do("keys", "sh", "Enter")
	p.until(text + `.includes("\u0379")`)
	p.until(`document.getElementById("large").toDataURL() !== window.before`)
	p.shoot("tofu-other")
}
