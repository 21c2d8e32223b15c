package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/vt"
)

// renderSizes are a usual terminal and a large one.
var renderSizes = []struct{ cols, rows int }{{80, 24}, {200, 50}}

// renders measures pictures, in this process and from the command line, and
// recordings of a minute.
func renders(b *bench, home *denHome) error {
	for _, size := range renderSizes {
		if err := b.pictures(home, size.cols, size.rows); err != nil {
			return err
		}
	}
	if err := b.films(home); err != nil {
		return err
	}
	b.out.note("agent-tty 0.5.0 with its browser, measured earlier, elsewhere: a picture 0.9 s warm, 2.1 s cold, time-outs from 2 MB of output; WebM of a session of 26 s 2.3 s at maximum speed")
	return nil
}

// sourceCode is a screen full of coloured text, as editors and pagers show it.
func sourceCode(lines, cols int) string {
	words := []string{"\x1b[35mfunc\x1b[m", "(\x1b[34mterminal\x1b[m", "*vt.Terminal)", "\x1b[1;31mreturn\x1b[m", "\x1b[32m\"a string\"\x1b[m", "size,", "err", ":=", "\x1b[2m// why\x1b[m", "next()"}
	plain := []int{4, 9, 13, 6, 10, 5, 3, 2, 6, 6}
	var b strings.Builder
	n := 0
	for range lines {
		for used := 0; ; n++ {
			if used += plain[n%len(words)] + 1; used >= cols {
				break
			}
			b.WriteString(words[n%len(words)] + " ")
		}
		b.WriteString("\r\n")
	}
	return strings.TrimSuffix(b.String(), "\r\n")
}

func (b *bench) pictures(home *denHome, cols, rows int) error {
	text := sourceCode(rows, cols)
	term := vt.New(vt.Config{Cols: cols, Rows: rows})
	term.Write([]byte(text))
	r, err := render.New(render.Options{})
	if err != nil {
		return err
	}
	of := fmt.Sprintf("PNG of %dx%d", cols, rows)
	inside := b.out.series(of, "den, in process", "ms", false)
	file := filepath.Join(b.tmp, "screen")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	name := fmt.Sprintf("pic%d", cols)
	if err := home.do("new", "--cols", fmt.Sprint(cols), "--rows", fmt.Sprint(rows), name, "--", "sh", "-c", `cat "$1"; printf '\033]2;all\007'; exec cat`, "sh", file); err != nil {
		return err
	}
	if err := home.do("wait", name, "--stable", "300ms"); err != nil {
		return err
	}
	cold := b.out.series(of, "den screenshot, cold", "ms", false)
	svg := b.out.series(of, "den screenshot --format svg, cold", "ms", false)
	out := filepath.Join(b.tmp, "out")
	b.calm.await()
	for i := range b.rounds(200, 20) + 5 { // in a row, as a server would: no program starts between them
		begun := time.Now()
		if _, err := r.PNG(render.FromTerminal(term, r.Theme())); err != nil {
			return err
		}
		if i >= 5 { // the first ones draw the letters
			inside.add(msSince(begun))
		}
	}
	err = b.race(b.rounds(50, 10),
		home.lane(cold, "screenshot", name, "-o", out, "--format", "png"), home.lane(svg, "screenshot", name, "-o", out, "--format", "svg"))
	b.out.aim(of+" in process: under 4 ms", inside.median() < 4, "%s ms", number(inside.median()))
	b.out.aim(of+" from the command line: under 30 ms", cold.median() < 30, "%s ms", number(cold.median()))
	return err
}

// films measures recordings of a session of 60 s.
func (b *bench) films(home *denHome) error {
	if err := home.do("new", "--cols", "80", "--rows", "24", "film", "--", "true"); err != nil {
		return err
	}
	if err := home.do("wait", "film", "--exit"); err != nil {
		return err
	}
	st, err := home.status("film")
	if err != nil {
		return err
	}
	if err := minute(home.logDir(st.ID)); err != nil {
		return err
	}
	formats := []string{"cast", "text", "gif"}
	if _, err := exec.LookPath("ffmpeg"); err == nil {
		formats = append(formats, "webm", "mp4")
	} else {
		b.out.note("ffmpeg is missing: no videos were made")
	}
	for _, format := range formats {
		line := b.out.series("recording of 60 s", "den export --format "+format, "ms", false)
		var ans struct{ Bytes, Frames int }
		err := b.race(b.rounds(5, 1), lane{line, took(func() error {
			return home.ask(&ans, "export", "film", "--format", format, "-o", filepath.Join(b.tmp, "film."+format))
		})})
		if err != nil {
			return err
		}
		b.out.note("%s: %d KB, %d pictures", format, ans.Bytes/1000, ans.Frames)
		if format == "gif" {
			b.out.aim("GIF of a session of 60 s: under 1 s", line.median() < 1000, "%s ms", number(line.median()))
		}
	}
	return nil
}

// minute puts a log of 60 s of work into a directory: keys echoed one by one,
// and coloured output that scrolls.
func minute(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	var now time.Duration
	term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: 1000})
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: 80, Rows: 24, Term: "xterm-256color"},
		Clock:  func() time.Duration { return now }, Now: time.Now, Repaint: term.Dump,
	})
	if err != nil {
		return err
	}
	say := func(text string) {
		w.Append(eventlog.Output, []byte(text))
		term.Write([]byte(text))
	}
	for second := range 60 {
		for i, key := range "make test" {
			now = time.Duration(second)*time.Second + time.Duration(i)*60*time.Millisecond
			say(string(key))
		}
		say("\r\n")
		for line := range 20 {
			now += 15 * time.Millisecond
			say(fmt.Sprintf("\x1b[32mok\x1b[m   package/%d/%d  \x1b[2m%d ms\x1b[m\r\n", second, line, line*7))
		}
		say("\x1b[1;34m~/work\x1b[m $ ")
	}
	return w.Close()
}
