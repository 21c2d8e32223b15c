package main

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"den/internal/testkit/browser"
)

//go:embed studio.html
var studioPage string

// studio puts pictures into windows.
type studio struct {
	*world
	browser *browser.Browser
	out     string // where pictures go
}

// shot is one picture in its window.
type shot struct {
	Picture []byte   `json:"picture,omitempty"` // a PNG; nil: the one before
	Kind    string   `json:"kind"`              // of the window: terminal or browser
	Title   string   `json:"title"`
	Theme   string   `json:"theme,omitempty"` // light or dark
	Number  int      `json:"number,omitempty"`
	Caption string   `json:"caption,omitempty"` // or "": a picture without one
	Pointer *pointer `json:"pointer,omitempty"`
}

// pointer is where the mouse is, in CSS pixels of the picture.
type pointer struct {
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	Pressed bool    `json:"pressed"`
}

// barHeight and captionHeight are those of studio.html.
const (
	barHeight     = 38
	captionHeight = 60
)

// open opens a window for pictures of so many CSS pixels.
func (s *studio) open(width, height int, scale float64) *tab {
	address := "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(studioPage))
	t := s.visit(address, width, height, scale)
	// What is outside of a window's corners is see-through.
	clear := map[string]any{"color": map[string]int{"r": 0, "g": 0, "b": 0, "a": 0}}
	s.check(t.page.Call(s.ctx, "Emulation.setDefaultBackgroundColorOverride", clear, nil))
	t.until(`typeof show === "function"`)
	return t
}

// develop draws a shot in a window.
func (t *tab) develop(s shot) []byte {
	text, err := json.Marshal(s)
	t.check(err)
	t.eval("show("+string(text)+")", nil)
	return t.picture()
}

// frame saves a picture of a page in the window of a browser.
func (s *studio) frame(name string, p *tab, theme string) {
	t := s.open(p.width, p.height+barHeight, p.scale)
	defer t.close()
	s.save(name, t.develop(shot{Picture: p.picture(), Kind: "browser", Title: p.address(), Theme: theme}))
}

func (s *studio) save(name string, data []byte) {
	s.check(os.WriteFile(filepath.Join(s.out, name), data, 0o644))
}

// tab is a tab of the browser.
type tab struct {
	*world
	page          *browser.Page
	width, height int
	scale         float64
}

func (s *studio) visit(address string, width, height int, scale float64) *tab {
	page, err := s.browser.Open(s.ctx, "about:blank", width, height)
	s.check(err)
	t := &tab{s.world, page, width, height, scale}
	s.check(page.Size(s.ctx, width, height, scale))
	s.check(page.Prefer(s.ctx, "dark"))
	s.check(page.Navigate(s.ctx, address))
	return t
}

func (t *tab) close() { t.check(t.page.Close(t.ctx)) }

// until waits for something to be true in the tab. Where it does not come, a
// picture of the tab is left.
func (t *tab) until(code string) {
	ctx, cancel := context.WithTimeout(t.ctx, 2*time.Minute)
	defer cancel()
	if err := t.page.Until(ctx, code); err != nil {
		path := filepath.Join(os.TempDir(), "failed.png")
		t.check(os.WriteFile(path, t.picture(), 0o600))
		t.Fatalf("%w: see %s", err, path)
	}
}

func (t *tab) eval(code string, result any) { t.check(t.page.Eval(t.ctx, code, result)) }

// picture is what the tab shows.
func (t *tab) picture() []byte {
	data, err := t.page.Screenshot(t.ctx)
	t.check(err)
	return data
}

// address is what a browser shows of it.
func (t *tab) address() string {
	var host string
	t.eval("location.host", &host)
	return strings.TrimSuffix(host, "/")
}

// middle is the place of the first element that a selector finds.
func (t *tab) middle(selector string) pointer {
	var p pointer
	t.until(`document.querySelector('` + selector + `')`)
	t.eval(`(r => ({x: r.left + r.width / 2, y: r.top + r.height / 2}))(document.querySelector('`+selector+`').getBoundingClientRect())`, &p)
	return p
}

// mouse does something with the mouse: mouseMoved, mousePressed or mouseReleased.
func (t *tab) mouse(kind string, p pointer) {
	event := map[string]any{"type": kind, "x": p.X, "y": p.Y, "button": "left", "buttons": 1, "clickCount": 1}
	if kind == "mouseMoved" && !p.Pressed {
		event["button"], event["buttons"] = "none", 0
	}
	t.check(t.page.Call(t.ctx, "Input.dispatchMouseEvent", event, nil))
}
