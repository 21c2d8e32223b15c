package web_test

import "testing"

// pixel is a colour of the canvas, at a place in cells of a screen of 20 by 6.
const pixel = `((col, row) => { const c = document.getElementById("large");
	const one = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
	one.drawImage(c, Math.floor(c.width / 20 * col), Math.floor(c.height / 6 * row), 1, 1, 0, 0, 1, 1);
	return [...one.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(); })`

// The page draws images of programs, and lines of double size, where they are.
func TestImagesAreOnThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	// A red and blue image of 10 by 3 cells, with text over it, and a blue row of double width.
	w.Do("new", "picture", "--cols", "20", "--rows", "6", "bash", "-c",
		`printf '\033P0;1q"1;1;90;60#1;2;100;0;0#2;2;0;0;100'; for i in 1 2 3 4 5; do printf '#1!90~-'; done; for i in 1 2 3 4 5; do printf '#2!90~-'; done; printf '\033\\';
		printf '\033[2;3Hover\033[5;1H\033#6\033[48;2;10;200;30m   \033[mready'; cat`)
	w.Do("wait", "picture", "--text", "ready")
	p := w.browse(1200, 800)
	p.openSession(w.Dir("picture").ID)
	p.until(text + `.includes("over")`)
	p.until(pixel + `(9.5, 0.5) === "255,0,0"`)
	for place, want := range map[string]string{
		`(0.5, 0.5)`: "255,0,0", `(9.5, 2.5)`: "0,0,255", `(10.5, 0.5)`: "22,24,29", `(2.1, 1.1)`: "22,24,29", // text replaces a part of it
		`(5.5, 4.5)`: "10,200,30", `(6.1, 4.02)`: "22,24,29", // three cells of double width
	} {
		var got string
		if p.eval(pixel+place, &got); got != want {
			t.Errorf("the colour at %s is %s, want %s", place, got, want)
		}
	}
	p.shoot("images")
	w.Do("type", "picture", "x", "--enter")
	p.until(text + `.includes("x")`)
	p.until(pixel + `(9.5, 1.5) === "0,0,255"`) // it is not sent again, and has scrolled
}
