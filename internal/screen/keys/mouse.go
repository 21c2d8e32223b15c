package keys

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"den/internal/base/fault"
	"den/internal/screen/vt"
)

// action numbers the mouse actions. The numbers stay in this process.
type action int

// actionRow is what one mouse action is made of.
type actionRow struct {
	name   string
	button int // 0 left, 1 middle, 2 right, 64 and up the wheel, 3 none
	press  int // how often it is pressed
	lift   bool
	move   bool
	drags  bool
}

// actions lists the mouse actions; the first row is "no action".
var actions = []actionRow{
	{},
	{name: "Click", press: 1, lift: true},
	{name: "MiddleClick", button: 1, press: 1, lift: true},
	{name: "RightClick", button: 2, press: 1, lift: true},
	{name: "DoubleClick", press: 2, lift: true},
	{name: "TripleClick", press: 3, lift: true},
	{name: "Press", press: 1},
	{name: "MiddlePress", button: 1, press: 1},
	{name: "RightPress", button: 2, press: 1},
	{name: "Release", lift: true},
	{name: "MiddleRelease", button: 1, lift: true},
	{name: "RightRelease", button: 2, lift: true},
	{name: "Move", button: 3, move: true},
	{name: "Drag", press: 1, lift: true, move: true, drags: true},
	{name: "MiddleDrag", button: 1, press: 1, lift: true, move: true, drags: true},
	{name: "RightDrag", button: 2, press: 1, lift: true, move: true, drags: true},
	{name: "WheelUp", button: 64, press: 1},
	{name: "WheelDown", button: 65, press: 1},
	{name: "WheelLeft", button: 66, press: 1},
	{name: "WheelRight", button: 67, press: 1},
}

func parseMouse(whole, name, args string) (Chord, error) {
	c := Chord{times: 1}
	var names []string
	for i, a := range actions[1:] {
		names = append(names, fold(a.name))
		if fold(a.name) == fold(name) {
			c.mouse = action(i + 1)
		}
	}
	if c.mouse == 0 {
		if near, d := nearest(fold(name), names); d <= 3 {
			for _, a := range actions[1:] {
				if fold(a.name) == near {
					return c, fault.Errorf(fault.Usage, "unknown mouse action %q in %q; did you mean %q?", name, whole, a.name+":ROW,COL")
				}
			}
		}
		return c, fault.Errorf(fault.Usage, "unknown mouse action %q in %q; one is Click:ROW,COL", name, whole)
	}
	from, to, dragged := strings.Cut(args, "-")
	if dragged != actions[c.mouse].drags {
		form := ":ROW,COL"
		if actions[c.mouse].drags {
			form = ":ROW,COL-ROW,COL"
		}
		return c, fault.Errorf(fault.Usage, "mouse action %q: it is spelled %s%s", whole, actions[c.mouse].name, form)
	}
	var err error
	if c.at, err = parsePoint(whole, from); err == nil && dragged {
		c.to, err = parsePoint(whole, to)
	}
	return c, err
}

func parsePoint(whole, s string) (point, error) {
	r, c, _ := strings.Cut(s, ",")
	row, rerr := strconv.ParseUint(strings.TrimSpace(r), 10, 16)
	col, cerr := strconv.ParseUint(strings.TrimSpace(c), 10, 16)
	if rerr != nil || cerr != nil {
		return point{}, fault.Errorf(fault.Usage, "mouse action %q: %q is not a place; it is ROW,COL, both counted from 0", whole, s)
	}
	return point{int(row), int(col)}, nil
}

const (
	motion = 32
	noKey  = 3
)

// encodeMouse sends only what the program asked for: fewer events where its
// mode has fewer, and an error where nothing would be left.
func (c Chord) encodeMouse(m vt.Modes) (string, error) {
	a := actions[c.mouse]
	if m.Mouse == vt.MouseNone && m.AltScreen && m.AltScroll && (a.name == "WheelUp" || a.name == "WheelDown") {
		return wheelKeys(a.name, m)
	}
	if m.Mouse == vt.MouseNone {
		return "", c.unsupported("the program did not ask for mouse events")
	}
	if m.Mouse == vt.MouseX10 && (a.press == 0 || a.drags || a.button > 2) {
		return "", c.unsupported("the program asked for presses of the mouse buttons only")
	}
	if a.button == noKey && m.Mouse != vt.MouseAny {
		return "", c.unsupported("the program did not ask for mouse movement without a button (Drag moves with one)")
	}
	var b strings.Builder
	event := func(button int, p point, release bool) error {
		s, err := c.report(m, button, p, release)
		b.WriteString(s)
		return err
	}
	end := c.at
	if a.drags {
		end = c.to
	}
	for range max(a.press, 1) {
		if a.press > 0 {
			if err := event(a.button, c.at, false); err != nil {
				return "", err
			}
		}
		if a.move && (m.Mouse == vt.MouseAny || m.Mouse == vt.MouseButton) {
			if err := event(a.button+motion, end, false); err != nil {
				return "", err
			}
		}
		if a.lift && m.Mouse != vt.MouseX10 {
			if err := event(a.button, end, true); err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}

// wheelKeys is the wheel for a full-screen program that knows no mouse but
// left alternate scroll mode on: cursor keys, three a notch as most terminals have it.
func wheelKeys(wheel string, m vt.Modes) (string, error) {
	c := named.Get()["up"]
	if wheel == "WheelDown" {
		c = named.Get()["down"]
	}
	one, err := c.encodeOnce(m)
	return strings.Repeat(one, 3), err
}

// report is one event in the encoding that the program chose.
func (c Chord) report(m vt.Modes, button int, p point, release bool) (string, error) {
	if m.Mouse != vt.MouseX10 {
		if c.mods&shift != 0 {
			button += 4
		}
		if c.mods&alt != 0 {
			button += 8
		}
		if c.mods&ctrl != 0 {
			button += 16
		}
	}
	x, y := p.col+1, p.row+1
	if m.MouseEncoding == vt.MouseSGRPixels {
		x, y = p.col*vt.CellWidth+vt.CellWidth/2, p.row*vt.CellHeight+vt.CellHeight/2 // a cell's middle
	}
	switch m.MouseEncoding {
	case vt.MouseSGR, vt.MouseSGRPixels:
		final := "M"
		if release {
			final = "m"
		}
		return csi + "<" + strconv.Itoa(button) + ";" + strconv.Itoa(x) + ";" + strconv.Itoa(y) + final, nil
	}
	if release {
		button = button&^noKey | noKey // These encodings cannot say which button.
	}
	switch m.MouseEncoding {
	case vt.MouseURxvt:
		return csi + strconv.Itoa(button+32) + ";" + strconv.Itoa(x) + ";" + strconv.Itoa(y) + "M", nil
	case vt.MouseUTF8:
		if x > 2015 || y > 2015 {
			return "", c.unsupported("the program's mouse encoding (1005) ends at column and row 2014")
		}
		b := []byte(csi + "M")
		b = utf8.AppendRune(b, rune(button+32))
		b = utf8.AppendRune(b, rune(x+32))
		return string(utf8.AppendRune(b, rune(y+32))), nil
	}
	if x > 223 || y > 223 {
		return "", c.unsupported("the program's mouse encoding ends at column and row 222; one with SGR encoding (1006) has no such limit")
	}
	return csi + "M" + string([]byte{byte(button + 32), byte(x + 32), byte(y + 32)}), nil
}
