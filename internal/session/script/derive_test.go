package script_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
	"den/internal/session/script"
	"den/internal/session/steps"
)

// recording writes a log, event by event, with a clock of its own.
type recording struct {
	t    *testing.T
	dir  string
	now  time.Duration
	term *vt.Terminal
	w    *eventlog.Writer
}

func record(t *testing.T) *recording {
	t.Helper()
	r := &recording{t: t, dir: filepath.Join(t.TempDir(), "log"), term: vt.New(vt.Config{Cols: 30, Rows: 6})}
	var err error
	r.w, err = eventlog.Create(r.dir, eventlog.Options{
		Header: eventlog.Header{Cols: 30, Rows: 6, Term: "xterm"}, SegmentBytes: 1 << 20,
		Clock: func() time.Duration { return r.now }, Now: time.Now, Repaint: r.term.Dump,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.w.Close() }) // Best effort: it is closed by log.
	return r
}

// add writes an event so long after the one before.
func (r *recording) add(after time.Duration, code, data string) {
	r.now += after
	r.w.Append(code, []byte(data))
	if code == eventlog.Output {
		r.term.Write([]byte(data))
	}
}

func (r *recording) waits() {
	r.add(0, eventlog.Note, string(eventlog.ActivityNote{Activity: "waiting"}.Encode()))
}

func (r *recording) derive(o script.Options) *script.Derived {
	r.t.Helper()
	if err := r.w.Close(); err != nil {
		r.t.Fatal(err)
	}
	log, err := eventlog.Open(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	o.Command = []string{"app"}
	d, err := script.Derive(log, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// lines are the steps, one a line.
func lines(t *testing.T, d *script.Derived) (all []string) {
	t.Helper()
	for i := range d.Steps {
		raw, err := json.Marshal(&d.Steps[i].Step)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(raw))
	}
	return all
}

func expect(t *testing.T, d *script.Derived, want ...string) {
	t.Helper()
	if got := lines(t, d); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

const pause = 300 * time.Millisecond

// A key that is repeated late, when the next one has been pressed, leaves no
// screen at rest between the two.
func TestDeriveOfALateEcho(t *testing.T) {
	r := record(t)
	r.add(0, "o", "$ ")
	r.waits()
	r.add(pause, "i", "e")
	r.add(0, "o", "e")
	r.waits()
	r.add(pause, "i", "c")
	r.add(pause, "i", "h")
	r.add(0, "o", "ch")
	r.add(pause, "i", "o\r")
	r.add(0, "o", "o\r\n\r\n$ ")
	r.waits()
	r.add(pause, "i", "exit\r")
	r.add(0, "o", "exit\r\n")
	r.add(0, "x", "0")
	expect(t, r.derive(script.Options{}),
		`{"wait":{"text":"$","ready":true}}`,
		`{"screen":["$"]}`,
		`{"type":"echo","enter":true}`,
		`{"wait":{"ready":true}}`,
		`{"screen":["$ echo","","$"]}`,
		`{"type":"exit","enter":true}`,
		`{"exit":0}`,
		`{"screen":["$ echo","","$ exit"]}`,
	)
}

func TestDerive(t *testing.T) {
	r := record(t)
	r.add(0, "o", "$ ")
	r.waits()
	r.add(pause, "i", "ls\r")
	r.add(0, "o", "ls\r\n")
	r.add(pause/10, "o", "alpha\r\nbeta 1\r\n$ ")
	r.waits()
	r.add(pause, "r", "20x6")
	r.add(pause, "i", "\x1b[A\x03")
	r.add(0, "o", "ls^C\r\n$ ")
	r.add(pause, "i", "exit 3\r")
	r.add(0, "o", "exit 3\r\n")
	r.add(0, "x", "3")
	expect(t, r.derive(script.Options{}),
		`{"wait":{"text":"$","ready":true}}`,
		`{"screen":["$"]}`,
		`{"type":"ls","enter":true}`,
		`{"wait":{"text":"alpha","ready":true}}`, // no digits: they may be a time
		`{"screen":["$ ls","alpha","beta 1","$"]}`,
		`{"resize":"20x6"}`,
		`{"keys":["Up","C-c"]}`,
		`{"screen":["$ ls","alpha","beta 1","$ ls^C","$"]}`,
		`{"type":"exit 3","enter":true}`,
		`{"exit":3}`,
		`{"screen":["$ ls","alpha","beta 1","$ ls^C","$ exit 3"]}`,
	)
}

// Keys of a person: letters become one text while the line shows only them.
func TestDeriveTypedByHand(t *testing.T) {
	r := record(t)
	r.add(0, "o", "> ")
	for _, c := range "hey" {
		r.add(2*pause, "i", string(c))
		r.add(0, "o", string(c))
	}
	r.add(pause, "i", "\r")
	r.add(0, "o", "\r\nyes\r\n> ")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"\u003e"}}`, `{"screen":["\u003e"]}`,
		`{"type":"hey","enter":true}`,
		`{"wait":{"text":"yes"}}`, `{"screen":["\u003e hey","yes","\u003e"]}`)
}

// On a full screen each key is one.
func TestDeriveFullScreen(t *testing.T) {
	r := record(t)
	r.add(0, "o", "\x1b[?1049h\x1b[?1h\x1b[?2004h\x1b[?1000h\x1b[?1006htitle")
	r.add(pause, "i", "d")
	r.add(0, "i", "d")
	r.add(0, "i", "\x1bOB")
	r.add(0, "o", "\x1b[2;1Hdown")
	r.add(pause, "i", "\x1b[200~a\rb\x1b[201~")
	r.add(0, "o", "\x1b[3;1Hpasted")
	r.add(pause, "i", "\x1b[<0;3;2M\x1b[<0;3;2m")
	r.add(0, "o", "\x1b[4;1Hclicked")
	r.add(pause, "i", "iword")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"title"}}`, `{"screen":["title"]}`,
		`{"keys":["d","d","Down"]}`, `{"wait":{"text":"down"}}`, `{"screen":["title","down"]}`,
		`{"paste":"a\nb"}`, `{"wait":{"text":"pasted"}}`, `{"screen":["title","down","pasted"]}`,
		`{"keys":["Click:1,2"]}`, `{"wait":{"text":"clicked"}}`, `{"screen":["title","down","pasted","clicked"]}`,
		`{"type":"iword"}`)
}

// What was typed ahead has no screen before it: there was none at rest.
func TestDeriveTypedAhead(t *testing.T) {
	r := record(t)
	r.add(0, "o", "$ ")
	r.add(pause, "i", "make\r")
	r.add(pause/10, "o", "make\r\nbuilding")
	r.add(pause/10, "i", "ls\r")
	r.add(pause/10, "o", "\r\nfile\r\n$ ")
	r.add(pause, "i", "echo l\r")
	r.add(0, "o", "echo l\r\nl\r\n$ ")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"$"}}`, `{"screen":["$"]}`,
		`{"type":"make","enter":true}`, `{"wait":{"text":"building"}}`,
		`{"type":"ls","enter":true}`, `{"wait":{"text":"file","early":true}}`, // whether ls stands behind building depends on who is faster
		`{"type":"echo l","enter":true}`, `{"wait":{"text":"$"}}`) // nothing else tells that it was done

	r = record(t)
	r.add(0, "i", "make\r")
	r.add(pause/10, "i", "clear\r")
	r.add(pause/10, "o", "make\r\nclear\r\n\x1b[H\x1b[2J$ ")
	r.add(pause, "i", "ls\r")
	r.add(0, "o", "ls\r\nfile")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"type":"make","enter":true}`, `{"type":"clear","enter":true}`, `{"screen":["$"]}`,
		`{"type":"ls","enter":true}`, `{"wait":{"text":"file"}}`, `{"screen":["$ ls","file"]}`)
}

func TestDeriveSecrets(t *testing.T) {
	r := record(t)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	r.add(0, "o", "$ ")
	r.add(pause, "h", `{"bytes":8}`) // a line editor shows it
	r.add(0, "o", "echo hi")
	r.add(0, "o", "\r\nhi\r\nPassword: ")
	r.add(pause, "h", `{"bytes":7}`)
	r.add(0, "o", "\r\nok\r\nPIN: ")
	r.add(pause, "h", `{"bytes":5}`)
	r.add(0, "o", "****")
	r.add(0, "o", "\r\nright\r\n$ ")
	r.add(pause, "i", "login "+token+"\r")
	r.add(0, "o", "login\r\n")
	d := r.derive(script.Options{Until: time.Hour, Redact: must(redact.New([]string{"ri(gh)t"}, true))})
	expect(t, d,
		`{"wait":{"text":"$"}}`, `{"screen":["$"]}`,
		`{"type":"echo hi","enter":true}`, `{"wait":{"text":"Password:"}}`, `{"screen":["$ echo hi","hi","Password:"]}`,
		`{"type":"${SECRET_1}","enter":true}`, `{"wait":{"text":"PIN:"}}`, `{"screen":["$ echo hi","hi","Password:","ok","PIN:"]}`,
		`{"type":"${SECRET_2}","enter":true}`,
		`{"screen":["hi","Password:","ok","PIN: ****",{"regex":"ri.+t"},"$"]}`,
		`{"type":"login ${SECRET_3}","enter":true}`, `{"screen":["Password:","ok","PIN: ****",{"regex":"ri.+t"},"$ login"]}`)
	if fmt.Sprint(d.Vars) != "[SECRET_1 SECRET_2 SECRET_3]" || len(d.Warnings) != 1 {
		t.Errorf("%v %q", d.Vars, d.Warnings)
	}
	var b strings.Builder
	if err := d.Write(&b); err != nil || strings.Contains(b.String(), token) || !strings.Contains(b.String(), "# SECRET_1: 7 bytes that were typed without echo, at 600ms, the last of them Enter\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What was recorded although the terminal showed it to nobody is a secret, too,
// and so it is where it is shown later.
func TestDeriveRecordedSecrets(t *testing.T) {
	r := record(t)
	unechoed := func(text string) {
		r.add(0, "n", string(eventlog.UnechoedNote()))
		r.add(0, "i", text)
	}
	r.add(0, "o", "Password: ")
	r.now += pause
	unechoed("hun")
	unechoed("ter2\r")
	r.add(0, "o", "\r\nyou said hunter2\r\nagain: ")
	r.now += pause
	unechoed("hunter2\r")
	r.add(0, "o", "\r\ngood")
	d := r.derive(script.Options{Until: time.Hour})
	expect(t, d,
		`{"wait":{"text":"Password:"}}`, `{"screen":["Password:"]}`,
		`{"type":"${SECRET_1}","enter":true}`, `{"wait":{"text":"again:"}}`, `{"screen":["Password:",{"regex":"you said .+"},"again:"]}`,
		`{"type":"${SECRET_1}","enter":true}`, `{"wait":{"text":"good"}}`, `{"screen":["Password:",{"regex":"you said .+"},"again:","good"]}`)
	if len(d.Warnings) > 0 {
		t.Errorf("%q", d.Warnings)
	}
}

func TestDeriveOpenRows(t *testing.T) {
	r := record(t)
	r.add(0, "o", "clock 10\r\ntook 12 ms\r\nmenu")
	for i := range 3 {
		r.add(time.Second, "o", fmt.Sprintf("\x1b[1;7H%d", 11+i))
	}
	r.add(pause, "i", "q")
	expect(t, r.derive(script.Options{Mask: []*regexp.Regexp{regexp.MustCompile(`[0-9]+ ms`)}}),
		`{"wait":{"text":"menu"}}`, `{"screen":[null,{"regex":"took (?:[0-9]+ ms)"},"menu"]}`, `{"type":"q"}`)
}

func TestDeriveCells(t *testing.T) {
	r := record(t)
	cell := func(words string) { r.add(time.Millisecond, "c", `{"cell_id":"c1",`+words+`}`) }
	r.add(0, "o", "$ ")
	r.now += pause
	cell(`"status":"fired","code":"./install"`)
	r.add(0, "h", `{"bytes":10}`)
	r.add(0, "o", "./install\r\nwhere? ")
	cell(`"status":"asking","waiting_for":"input","question":"where?"`)
	r.add(pause, "i", "here\r")
	r.add(0, "o", "here\r\ndone\r\n$ ")
	cell(`"status":"done","by":"shell","exit_code":0`)
	r.add(0, "c", `{"cell_id":"c2","status":"fired","code":"cat"}`)
	r.add(0, "h", `{"bytes":4}`)
	r.add(0, "o", "cat\r\n")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"$"}}`, `{"screen":["$"]}`,
		`{"run":"./install"}`, `{"answer":"here"}`, `{"screen":["$ ./install","where? here","done","$"]}`,
		`{"type":"cat","enter":true}`, `{"screen":["$ ./install","where? here","done","$ cat"]}`)
}

// A session that somebody ended has no end of its own.
func TestDeriveKilled(t *testing.T) {
	r := record(t)
	r.add(0, "o", "up")
	r.add(pause, "x", "129")
	d := r.derive(script.Options{Signal: "SIGHUP"})
	expect(t, d, `{"wait":{"text":"up"}}`, `{"screen":["up"]}`)
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "SIGHUP") {
		t.Errorf("%q", d.Warnings)
	}
}

// A recording whose beginning was dropped is refused: nobody knows how to come
// there.
func TestDeriveWithoutABeginning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	term := vt.New(vt.Config{Cols: 30, Rows: 6})
	w, err := eventlog.Create(dir, eventlog.Options{
		Header: eventlog.Header{Cols: 30, Rows: 6}, SegmentBytes: 4 << 10, LimitBytes: 8 << 10,
		Clock: func() time.Duration { return 0 }, Now: time.Now, Repaint: term.Dump,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		w.Append(eventlog.Output, []byte(strings.Repeat("x", 1<<10)))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := w.RotateIfFull(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := script.Derive(log, script.Options{}); fault.KindOf(err) != fault.Export {
		t.Errorf("%v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What looks otherwise is another screen, if looks are compared.
func TestDeriveLooks(t *testing.T) {
	for _, o := range []script.Options{{}, {Styles: true}, {Pictures: "menu"}} {
		r := record(t)
		r.add(0, "o", "\x1b[?1049h\x1b[?25l\x1b[H\x1b[7mone\x1b[m\x1b[2;1Htwo")
		r.add(pause, "i", "\x1b[B")
		r.add(0, "o", "\x1b[Hone\x1b[2;1H\x1b[7mtwo\x1b[m")
		r.add(pause, "i", "q")
		o.Until = time.Hour
		d := r.derive(o)
		switch {
		case o.Styles:
			expect(t, d, `{"wait":{"text":"two"}}`, `{"screen":{"rows":["one","two"],"styles":["0 0-2 inverse"]}}`,
				`{"keys":["Down"]}`, `{"screen":{"rows":["one","two"],"styles":["1 0-2 inverse"]}}`, `{"keys":["q"]}`)
		case o.Pictures != "":
			expect(t, d, `{"wait":{"text":"two"}}`, `{"screen":{"rows":["one","two"],"picture":"menu-1.png"}}`,
				`{"keys":["Down"]}`, `{"screen":{"rows":["one","two"],"picture":"menu-2.png"}}`, `{"keys":["q"]}`)
			diff, err := steps.ComparePictures(d.Pictures["menu-1.png"], d.Pictures["menu-2.png"], 0)
			if err != nil || diff == nil || len(d.Pictures) != 2 {
				t.Errorf("%d pictures, %+v %v", len(d.Pictures), diff, err)
			}
		default:
			expect(t, d, `{"wait":{"text":"two"}}`, `{"screen":["one","two"]}`, `{"keys":["Down"]}`, `{"keys":["q"]}`)
		}
	}
}

// Where only the cursor tells of an input, it is waited for.
func TestDeriveCursor(t *testing.T) {
	r := record(t)
	r.add(0, "o", "\x1b[?1049h\x1b[Htext")
	r.add(pause, "i", "\x1b\x1b")
	r.add(0, "o", "\x1b[1;4H")
	r.add(pause, "i", "x")
	r.add(0, "o", "\a")
	r.add(pause, "i", "y")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"text"}}`, `{"screen":["text"]}`,
		`{"keys":["Escape","Escape"]}`, `{"wait":{"cursor":"0,3"}}`,
		`{"keys":["x"]}`, `{"keys":["y"]}`)
}

// A program that draws where its cursor stands is waited for, too: a key is not
// repeated there.
func TestDeriveNewsWhereTheCursorIs(t *testing.T) {
	r := record(t)
	r.add(0, "o", "\x1b[?1049h\x1b[Hmenu\x1b[3;1H")
	r.add(pause, "i", "\x1b[B")
	r.add(0, "o", "\rsecond\r")
	r.add(pause, "i", "x")
	r.add(0, "o", "xsecond\b")
	expect(t, r.derive(script.Options{Until: time.Hour}),
		`{"wait":{"text":"menu"}}`, `{"screen":["menu"]}`,
		`{"keys":["Down"]}`, `{"wait":{"text":"second"}}`, `{"screen":["menu","","second"]}`,
		`{"keys":["x"]}`, `{"screen":["menu","","xsecond"]}`)
}

// Who does not pause is told that no screen is expected.
func TestDeriveWithoutPauses(t *testing.T) {
	r := record(t)
	r.add(0, "o", "\x1b[?1049h\x1b[Hmenu")
	for i := range 3 {
		r.add(pause/10, "i", "\x1b[B")
		r.add(pause/10, "o", fmt.Sprintf("\x1b[2;1Hitem %d", i))
	}
	r.add(0, "x", "0")
	if d := r.derive(script.Options{}); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "--idle 300ms") {
		t.Errorf("%q\n%s", d.Warnings, lines(t, d))
	}
}

// A secret that rows break is no more in the script than a whole one, nor is the
// end of one that a mask covers the beginning of.
func TestDeriveBrokenSecrets(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	r := record(t) // 30 columns
	r.add(0, "o", "Password: ")
	r.now += pause
	r.add(0, "n", string(eventlog.UnechoedNote()))
	r.add(0, "i", "correct-horse-battery\r")
	r.add(0, "o", "\r\nit was, says it: correct-horse-battery\r\n")
	r.add(0, "o", "token "+token+"\r\nuser 12 "+token[:4]+"\r\n")
	r.add(pause, "i", "x")
	d := r.derive(script.Options{Redact: must(redact.New([]string{"user 12 ghp_"}, true)), Mask: []*regexp.Regexp{regexp.MustCompile("user 1")}})
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, told := range []string{"correct", "battery", "ghp_", "a1B2", "2 gh"} {
		if strings.Contains(b.String(), told) {
			t.Errorf("%s is told:\n%s", told, b.String())
		}
	}
	if !strings.Contains(b.String(), `{"regex":"it was, says it: .+"}`) {
		t.Errorf("more is open than has to be:\n%s", b.String())
	}
}
