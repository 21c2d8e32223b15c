package screen

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// PlainText returns the asked scrollback and the canonical text.
func (s *Snapshot) PlainText() string {
	if len(s.Scrollback) == 0 {
		return s.Text
	}
	var b strings.Builder
	for _, l := range s.Scrollback {
		b.WriteString(l.text())
		b.WriteByte('\n')
	}
	b.WriteString(s.Text)
	return b.String()
}

// Unwrapped returns the asked scrollback and the visible rows as the lines that
// were printed: a line that needed several rows is one again.
func (s *Snapshot) Unwrapped() string {
	var b strings.Builder
	for _, lines := range [][]Line{s.Scrollback, s.Lines} {
		for _, l := range lines {
			if l.Wrapped {
				b.WriteString(l.padded())
				continue
			}
			b.WriteString(l.text())
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (l Line) text() string { return strings.TrimRight(l.padded(), " ") }

func (l Line) padded() string {
	var b strings.Builder
	col := 0
	for _, r := range l.Runs {
		b.WriteString(strings.Repeat(" ", r.Col-col))
		b.WriteString(r.Text)
		col = r.Col + r.Width
	}
	return b.String()
}

// ANSI returns the lines with their styles as SGR sequences, for a terminal
// or a pager.
func (s *Snapshot) ANSI() string {
	return s.join(func(b *strings.Builder, r Run) {
		sgr := r.sgr()
		link := SafeLink(r.Link)
		if link {
			fmt.Fprintf(b, "\x1b]8;;%s\x1b\\", r.Link)
		}
		if sgr != "" {
			b.WriteString("\x1b[" + sgr + "m")
		}
		b.WriteString(r.Text)
		if sgr != "" {
			b.WriteString("\x1b[0m")
		}
		if link {
			b.WriteString("\x1b]8;;\x1b\\")
		}
	})
}

// join writes all lines run by run, without trailing empty lines.
func (s *Snapshot) join(write func(*strings.Builder, Run)) string {
	var b strings.Builder
	gap := 0
	for _, lines := range [][]Line{s.Scrollback, s.Lines} {
		for _, l := range lines {
			if len(l.Runs) > 0 {
				b.WriteString(strings.Repeat("\n", gap))
				gap = 0
				for _, r := range l.Runs {
					write(&b, r)
				}
			}
			gap++
		}
	}
	return b.String()
}

// sgr returns the parameters that give a run its style, "" for plain text.
func (st Style) sgr() string {
	var p []string
	for _, a := range []struct {
		on   bool
		code string
	}{
		{st.Bold, "1"}, {st.Dim, "2"}, {st.Italic, "3"}, {st.Blink, "5"}, {st.Inverse, "7"},
		{st.Hidden, "8"}, {st.Strike, "9"}, {st.Overline, "53"},
	} {
		if a.on {
			p = append(p, a.code)
		}
	}
	if st.Underline != "" {
		p = append(p, map[string]string{"single": "4", "double": "4:2", "curly": "4:3", "dotted": "4:4", "dashed": "4:5"}[st.Underline])
	}
	p = appendSGRColor(p, "38", st.FG)
	p = appendSGRColor(p, "48", st.BG)
	p = appendSGRColor(p, "58", st.UnderlineColor)
	return strings.Join(p, ";")
}

func appendSGRColor(p []string, code, color string) []string {
	if color == "" {
		return p
	}
	if rgb, ok := strings.CutPrefix(color, "#"); ok {
		v, _ := strconv.ParseUint(rgb, 16, 32) // made by hexColor
		return append(p, fmt.Sprintf("%s;2;%d;%d;%d", code, v>>16, v>>8&255, v&255))
	}
	return append(p, code+";5;"+color)
}

// HTML returns a whole page with the lines as one pre element: no script, no
// outside request, every style inline.
func (s *Snapshot) HTML() string {
	body := s.join(func(b *strings.Builder, r Run) {
		text := html.EscapeString(r.Text)
		css := s.css(r.Style)
		if SafeLink(r.Link) {
			fmt.Fprintf(b, `<a href="%s" style="color:inherit;%s">%s</a>`, html.EscapeString(r.Link), css, text)
			return
		}
		if css == "" {
			b.WriteString(text)
			return
		}
		fmt.Fprintf(b, `<span style="%s">%s</span>`, css, text)
	})
	title := s.Title
	if title == "" {
		title = "den"
	}
	return fmt.Sprintf(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>%s</title></head>
<body style="margin:0;background:%s;color:%s"><pre style="margin:1em;font-family:ui-monospace,'JetBrains Mono','DejaVu Sans Mono',Menlo,monospace;line-height:1.2;width:%dch">%s</pre></body></html>`,
		html.EscapeString(title), s.Background, s.Foreground, s.Cols, body)
}

// SafeLink reports whether a link of a program may become a link in a page, in a
// picture or on a person's terminal: it must not be a script, nor lead to a file
// of the reader's machine.
func SafeLink(link string) bool {
	for _, scheme := range []string{"http://", "https://", "mailto:", "ftp://"} {
		if len(link) >= len(scheme) && strings.EqualFold(link[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}

func (s *Snapshot) css(st Style) string {
	fg, bg := s.color(st.FG), s.color(st.BG)
	if st.Inverse {
		fg, bg = bg, fg
		if fg == "" {
			fg = s.Background
		}
		if bg == "" {
			bg = s.Foreground
		}
	}
	var b strings.Builder
	set := func(on bool, css string) {
		if on {
			b.WriteString(css)
		}
	}
	set(fg != "", "color:"+fg+";")
	set(bg != "", "background:"+bg+";")
	set(st.Bold, "font-weight:bold;")
	set(st.Dim, "opacity:.6;")
	set(st.Italic, "font-style:italic;")
	set(st.Hidden, "visibility:hidden;")
	var lines []string
	if st.Underline != "" {
		lines = append(lines, "underline")
	}
	if st.Strike {
		lines = append(lines, "line-through")
	}
	if st.Overline {
		lines = append(lines, "overline")
	}
	set(len(lines) > 0, "text-decoration:"+strings.Join(lines, " ")+";")
	set(st.Underline != "" && st.Underline != "single", "text-decoration-style:"+map[string]string{"double": "double", "curly": "wavy", "dotted": "dotted", "dashed": "dashed"}[st.Underline]+";")
	set(st.UnderlineColor != "", "text-decoration-color:"+s.color(st.UnderlineColor)+";")
	return b.String()
}

// color turns a run's colour into "#rrggbb", "" for the default.
func (s *Snapshot) color(name string) string {
	if i, err := strconv.Atoi(name); err == nil {
		return s.Palette[i]
	}
	return name
}
