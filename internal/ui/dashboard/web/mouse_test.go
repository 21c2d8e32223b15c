package web_test

import (
	"testing"
)

// The mouse of a person who has taken a terminal over is the program's, once it
// has asked for it; Shift leaves it to the page.
func TestMouseOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", allowActions)
	w.Do("new", "mouse", "--cols", "100", "--rows", "12", "sh", "-c",
		`stty raw -echo; read -r _ <&2; printf 'on\033[?1002;1006h'; exec cat -v`)
	p := w.browse(1200, 800)
	p.openSession(w.Dir("mouse").ID)
	p.until(`document.getElementById("text").children.length === 12`)
	p.press("i")
	p.until(`document.body.dataset.taken === "yes"`)
	p.mouse("mousePressed", 1, 1, "left", 0) // it does not want any: nothing arrives, and nothing ends
	p.mouse("mouseReleased", 1, 1, "left", 0)
	w.Do("keys", "mouse", "C-j")
	p.until(text + `.includes("on")`)

	p.mouse("mousePressed", 2, 5, "left", 0)
	p.mouse("mouseReleased", 2, 5, "left", 0)
	p.until(text + `.includes("^[[<0;6;3M^[[<0;6;3m")`)
	p.mouse("mousePressed", 1, 3, "right", 0)
	p.mouse("mouseReleased", 4, 7, "right", 0)
	p.until(text + `.includes("^[[<2;4;2M^[[<34;8;5M^[[<2;8;5m")`)
	p.mouse("mouseWheel", 3, 9, "none", 100)
	p.until(text + `.includes("^[[<65;10;4M")`)

	const shift = 8
	p.mouseWith(shift, "mousePressed", 0, 0, "left", 0)
	p.mouseWith(shift, "mouseMoved", 0, 2, "left", 0)
	p.mouseWith(shift, "mouseReleased", 0, 2, "left", 0)
	p.until(`getSelection().toString().startsWith("on")`)
	p.mouse("mousePressed", 2, 5, "left", 0)
	p.mouse("mouseReleased", 2, 5, "left", 0)
	p.press("x")
	p.until(text + `.includes("^[[<65;10;4M^[[<0;6;3M^[[<0;6;3mx")`) // nothing of what was done with Shift
}

func (p *tab) mouse(kind string, row, col int, button string, wheel float64) {
	p.t.Helper()
	p.mouseWith(0, kind, row, col, button, wheel)
}

// mouseWith does something with the mouse in a cell of the screen, of 12 rows and
// 100 columns.
func (p *tab) mouseWith(mods int, kind string, row, col int, button string, wheel float64) {
	p.t.Helper()
	var box struct{ X, Y, Width, Height float64 }
	p.eval(`document.getElementById("text").getBoundingClientRect().toJSON()`, &box)
	x, y := box.X+box.Width*(float64(col)+0.5)/100, box.Y+box.Height*(float64(row)+0.5)/12
	held := map[string]int{"left": 1, "right": 2}[button]
	if kind == "mouseReleased" {
		held = 0
	}
	p.must(p.page.Call(within(p.t), "Input.dispatchMouseEvent", map[string]any{
		"type": kind, "x": x, "y": y, "button": button, "buttons": held, "clickCount": 1, "deltaX": 0, "deltaY": wheel, "modifiers": mods,
	}, nil))
}
