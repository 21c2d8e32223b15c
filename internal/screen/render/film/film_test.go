package film_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/render/film"
	"den/internal/screen/render/redact"
	"den/internal/screen/replay"
	"den/internal/screen/vt"
)

// event is a line of a made log.
type event struct {
	at   time.Duration
	code string
	data string
}

// recorded writes a log of these events.
func recorded(t testing.TB, cols, rows int, events ...event) *eventlog.Log {
	t.Helper()
	var now time.Duration
	term := vt.New(vt.Config{Cols: cols, Rows: rows, Scrollback: 1000})
	dir := filepath.Join(t.TempDir(), "log")
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: cols, Rows: rows, Term: "xterm-256color", Title: "made"},
		Clock:  func() time.Duration { return now },
		Now:    func() time.Time { return time.Unix(1_800_000_000, 0).Add(now) },
		Repaint: func() []byte {
			return term.Dump()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		now = e.at
		if e.code == "rotate" {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		w.Append(e.code, []byte(e.data))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if e.code == eventlog.Output {
			term.Write([]byte(e.data))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// story is a session with colours, scrolling, a resize, marks and a pause.
func story(t testing.TB) *eventlog.Log {
	events := []event{{0, "o", "\x1b]2;story\x07$ make\r\n"}, {200 * time.Millisecond, "m", "build"}}
	at := 300 * time.Millisecond
	for i := range 40 {
		events = append(events, event{at, "o", fmt.Sprintf("\x1b[3%dmline %d\x1b[m of the \x1b[1mbuild\x1b[m\r\n", i%8, i)})
		at += 30 * time.Millisecond
	}
	events = append(events,
		event{at + 10*time.Second, "m", "after lunch"},
		event{at + 10*time.Second + time.Millisecond, "r", "60x12"},
		event{at + 11*time.Second, "o", "done 漢字 \x1b[42m ok \x1b[m\r\n$ "},
		event{at + 12*time.Second, "x", "0"})
	return recorded(t, 50, 10, events...)
}

func write(t testing.TB, l *eventlog.Log, o film.Options) (path string, res *film.Result) {
	t.Helper()
	o.Render.EmbeddedOnly = true
	path = filepath.Join(t.TempDir(), "film."+o.Format.Extension())
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	res, err = film.Write(t.Context(), f, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return path, res
}

func lastScreen(t testing.TB, l *eventlog.Log) *vt.Terminal {
	t.Helper()
	r, err := replay.At(l, replay.End())
	if err != nil {
		t.Fatal(err)
	}
	return r.Terminal
}

// near reports that two pictures differ only by the fewer levels of a GIF, or
// by what an encoder does.
func near(t *testing.T, got, want image.Image, tolerance int) {
	t.Helper()
	bad := 0
	b := want.Bounds()
	for y := range b.Dy() {
		for x := range b.Dx() {
			r1, g1, b1, _ := got.At(x, y).RGBA()
			r2, g2, b2, _ := want.At(x, y).RGBA()
			for _, d := range [3]int{int(r1>>8) - int(r2>>8), int(g1>>8) - int(g2>>8), int(b1>>8) - int(b2>>8)} {
				if d > tolerance || d < -tolerance {
					bad++
					break
				}
			}
		}
	}
	if limit := b.Dx() * b.Dy() / 200; bad > limit {
		t.Errorf("%d of %d pixels are wrong", bad, b.Dx()*b.Dy())
	}
}

// drawn is the picture of a terminal as a film shows it.
func drawn(t *testing.T, term *vt.Terminal, o render.Options) image.Image {
	t.Helper()
	o.EmbeddedOnly = true
	r, err := render.New(o)
	if err != nil {
		t.Fatal(err)
	}
	pic, err := r.PNG(render.FromTerminal(term, r.Theme()))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(strings.NewReader(string(pic.Data)))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// played puts the frames of a GIF over each other, as viewers do.
func played(t *testing.T, path string) (last image.Image, total time.Duration, g *gif.GIF) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err = gif.DecodeAll(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	canvas := image.NewRGBA(image.Rect(0, 0, g.Config.Width, g.Config.Height))
	for i, frame := range g.Image {
		draw.Draw(canvas, frame.Bounds(), frame, frame.Bounds().Min, draw.Over)
		total += time.Duration(g.Delay[i]) * 10 * time.Millisecond
	}
	return canvas, total, g
}

func TestGIFEndsWithTheLastScreen(t *testing.T) {
	l := story(t)
	for _, o := range []film.Options{
		{Format: film.GIF, Render: render.Options{Cursor: render.CursorAsSet}},
		{Format: film.GIF, Timing: film.Max, Render: render.Options{Cursor: render.CursorAsSet, Scale: 2}},
	} {
		path, res := write(t, l, o)
		last, total, g := played(t, path)
		near(t, last, drawn(t, lastScreen(t, l), o.Render), 30)
		if d := total - res.Duration; d > 20*time.Millisecond || d < -20*time.Millisecond {
			t.Errorf("the GIF plays for %v, its answer says %v", total, res.Duration)
		}
		if res.Frames != len(g.Image) || res.Frames < 5 {
			t.Errorf("%d frames told, %d there", res.Frames, len(g.Image))
		}
	}
}

func TestGIFDrawsOnlyWhatChanged(t *testing.T) {
	l := recorded(t, 80, 24, event{0, "o", "\x1b[2J\x1b[Hhello"}, event{time.Second, "o", "\x1b[12;40Hx"}, event{2 * time.Second, "o", "\x1b[12;41Hy"})
	path, _ := write(t, l, film.Options{Format: film.GIF, Render: render.Options{}})
	_, _, g := played(t, path)
	if len(g.Image) != 3 {
		t.Fatalf("%d frames, want 3", len(g.Image))
	}
	for i, frame := range g.Image[1:] {
		if b := frame.Bounds(); b.Dx() != 9 || b.Dy() != 20 {
			t.Errorf("frame %d has %v, want one cell", i+1, b)
		}
	}
}

// More colours than one palette has: every frame is still right.
func TestGIFOfManyColours(t *testing.T) {
	var events []event
	for step := range 6 {
		var b strings.Builder
		for i := range 400 {
			fmt.Fprintf(&b, "\x1b[48;2;%d;%d;%dm ", (i*7+step*40)%256, (i*3)%256, (255-i+step*9)%256)
		}
		events = append(events, event{time.Duration(step) * 100 * time.Millisecond, "o", "\x1b[H" + b.String() + "\x1b[m"})
	}
	l := recorded(t, 80, 6, events...)
	path, _ := write(t, l, film.Options{Format: film.GIF})
	last, _, _ := played(t, path)
	near(t, last, drawn(t, lastScreen(t, l), render.Options{}), 40)
}

func TestClock(t *testing.T) {
	l := story(t)
	recordedTime := 300*time.Millisecond + 40*30*time.Millisecond + 12*time.Second
	for _, c := range []struct {
		o    film.Options
		want time.Duration
	}{
		{film.Options{}, recordedTime},
		{film.Options{Speed: 4}, recordedTime / 4},
		{film.Options{IdleLimit: time.Second}, 300*time.Millisecond + 40*30*time.Millisecond + 3*time.Second - time.Millisecond},
		{film.Options{Timing: film.Accelerated}, 300*time.Millisecond + 39*30*time.Millisecond + 3*400*time.Millisecond + time.Millisecond},
		{film.Options{From: time.Second, To: 3 * time.Second}, 2 * time.Second},
	} {
		c.o.Format = film.Cast
		path, res := write(t, l, c.o)
		if d := res.Duration - c.want; d > 50*time.Millisecond || d < -50*time.Millisecond {
			t.Errorf("%+v: %v, want %v", c.o, res.Duration, c.want)
		}
		_, last := playCast(t, path, 3)
		if d := last - res.Duration; d > time.Millisecond || d < -time.Second*10 {
			t.Errorf("%+v: the cast's last event is at %v of %v", c.o, last, res.Duration)
		}
	}
}

// playCast feeds a cast to a terminal, as a player does.
func playCast(t *testing.T, path string, version int) (*vt.Terminal, time.Duration) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	var head struct {
		Version, Width, Height int
		Term                   struct{ Cols, Rows int }
	}
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil {
		t.Fatal(err)
	}
	if head.Version != version {
		t.Fatalf("version %d, want %d", head.Version, version)
	}
	term := vt.New(vt.Config{Cols: head.Width + head.Term.Cols, Rows: head.Height + head.Term.Rows})
	var clock time.Duration
	for _, line := range lines[1:] {
		var ev [3]any
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		at := time.Duration(ev[0].(float64) * float64(time.Second))
		if version == 3 {
			at += clock
		}
		if at < clock {
			t.Fatalf("time goes back to %v", at)
		}
		clock = at
		switch data := ev[2].(string); ev[1] {
		case "o":
			term.Write([]byte(data))
		case "r":
			var cols, rows int
			fmt.Sscanf(data, "%dx%d", &cols, &rows)
			term.Resize(cols, rows)
		}
	}
	return term, clock
}

func TestCastsPlayToTheSameScreen(t *testing.T) {
	l := story(t)
	want := screen.Text(lastScreen(t, l))
	for _, o := range []film.Options{
		{Format: film.Cast}, {Format: film.Cast2}, {Format: film.Cast, Speed: 3}, {Format: film.Cast2, IdleLimit: time.Second},
		{Format: film.Cast, From: 2 * time.Second}, {Format: film.Cast2, From: 5 * time.Second},
	} {
		path, _ := write(t, l, o)
		version := 3
		if o.Format == film.Cast2 {
			version = 2
		}
		term, _ := playCast(t, path, version)
		if got := screen.Text(term); got != want {
			t.Errorf("%+v shows\n%s\nwant\n%s", o, got, want)
		}
	}
}

func TestTranscript(t *testing.T) {
	long := strings.Repeat("wrapped ", 10) + "19 columns then wide 漢字 end"
	l := recorded(t, 20, 4, event{0, "o", "one\r\ntwo\r\n" + long + "\r\n"}, event{time.Second, "o", "\x1b[?1049h\x1b[2Jfull screen\x1b[?1049l"},
		event{2 * time.Second, "o", "progress 10%\rprogress 99%\r\nthree\r\nfour\r\n$ "})
	path, _ := write(t, l, film.Options{Format: film.Text})
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "one\ntwo\n" + long + "\nprogress 99%\nthree\nfour\n$\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}

var secret = "ghp_" + strings.Repeat("aB3d", 9)

// A secret that comes in two events, in the middle of the log, is in no form
// of recording.
func TestSecretsAreInNoRecording(t *testing.T) {
	r, err := redact.New(nil, true)
	if err != nil {
		t.Fatal(err)
	}
	l := recorded(t, 60, 6, event{0, "o", "\x1b]2;export " + secret + "\x07$ export T=" + secret[:7]}, event{time.Second, "o", secret[7:20]}, event{time.Second, "m", "set " + secret},
		event{time.Second + time.Millisecond, "rotate", ""}, event{2 * time.Second, "o", secret[20:] + "\r\nok\r\n"})
	for _, f := range []film.Format{film.Cast, film.Cast2, film.Text} {
		path, _ := write(t, l, film.Options{Format: f, Redact: r})
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{secret[:10], secret[10:20], secret[24:34]} {
			if strings.Contains(string(got), part) {
				t.Errorf("%s has %q:\n%s", f, part, got)
			}
		}
		if !strings.Contains(string(got), "ok") {
			t.Errorf("%s lost the rest", f)
		}
	}
	path, _ := write(t, l, film.Options{Format: film.GIF, Redact: r})
	last, _, _ := played(t, path)
	clear := drawn(t, lastScreen(t, l), render.Options{})
	same := true
	for x := 8 + 11*9; x < 8+51*9; x++ {
		same = same && last.At(x, 18) == clear.At(x, 18)
	}
	if same {
		t.Error("the GIF shows it")
	}
}

func TestBrokenOff(t *testing.T) {
	l := story(t)
	for _, f := range film.Formats {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		file, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := film.Write(ctx, file, l, film.Options{Format: f}); err == nil || !strings.Contains(err.Error(), "canceled") && fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: %v, want canceled", f, err)
		}
		file.Close()
	}
}

// A session that goes on while it is filmed, and grows beyond the picture that
// was planned, does not spoil the film.
func TestFilmOfASessionThatGoesOn(t *testing.T) {
	var now time.Duration
	dir := filepath.Join(t.TempDir(), "log")
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: 20, Rows: 5}, Clock: func() time.Duration { return now }, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	say := func(code, data string) {
		now += 100 * time.Millisecond
		w.Append(code, []byte(data))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		say(eventlog.Output, fmt.Sprintf("line %d\r\n", i))
	}
	l, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	grown := 0
	path, res := write(t, l, film.Options{Format: film.GIF, Progress: func(_, _ time.Duration) {
		grown++
		say(eventlog.Resize, fmt.Sprintf("%dx%d", 20+20*grown, 5+5*grown))
		say(eventlog.Output, strings.Repeat("wide ", 100))
	}})
	_, total, g := played(t, path)
	if g.Config.Width != 20*9+16 || total > res.Duration+20*time.Millisecond || grown == 0 {
		t.Errorf("%d wide, %v long of %v, after %d changes", g.Config.Width, total, res.Duration, grown)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	l := story(t)
	for _, o := range []film.Options{
		{Format: "avi"}, {Format: film.Cast, Speed: -1}, {Format: film.Cast, Timing: "slow"},
		{Format: film.Cast, From: 2 * time.Second, To: time.Second}, {Format: film.GIF, Render: render.Options{Scale: 100}},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := film.Write(t.Context(), f, l, o); fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v, want a usage error", o, err)
		}
		f.Close()
	}
}
