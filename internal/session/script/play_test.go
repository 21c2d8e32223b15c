package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/screen"
	"den/internal/screen/eventlog"
	"den/internal/screen/render/redact"
	"den/internal/screen/vt"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/script"
	"den/internal/session/steps"
	"den/internal/session/wire"
	"den/internal/testkit/dentest"
	"den/internal/testkit/need"
)

var den string // the binary that hosts sessions

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds den, and keeps its sockets apart from those of people.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-t-") // short: sockets go here
	if err == nil {
		defer os.RemoveAll(dir) // Best effort: a temporary directory.
		os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
		den = filepath.Join(dir, "den")
		err = dentest.Build(dir, "den")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// pauseOf is longer than what makes a screen one at rest.
const pauseOf = 250 * time.Millisecond

// A recorder is a session that a test types into as a person does.
type recorder struct {
	t *testing.T
	s *session.Session
}

func start(t *testing.T, dir string, environ []string, argv ...string) *recorder {
	t.Helper()
	root := home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}
	s, _, err := session.Create(t.Context(), root, home.Spec{
		Name: "rec", Command: argv, Cwd: dir, Term: session.DefaultTerm, Cols: 50, Rows: 8,
		Env: append(session.WithoutTerminal(environ), session.TerminalEnv(root, session.DefaultTerm, dir, "")...), RecordInput: home.RecordAll,
	}, session.Options{Binary: den})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = s.Kill(context.Background(), time.Second) // Best effort: mostly it is over.
	})
	r := &recorder{t, s}
	r.rest(0)
	return r
}

// rest waits until the program waits for input, and has been silent for a while.
func (r *recorder) rest(after uint64) {
	r.t.Helper()
	res, err := r.s.Wait(r.t.Context(), wire.Wait{After: after, Ready: true, Timeout: patience})
	if err != nil || !res.Matched {
		r.t.Fatalf("%+v %v", res, err)
	}
	if res, err = r.s.Wait(r.t.Context(), wire.Wait{Idle: pauseOf, Timeout: patience}); err != nil || !res.Matched {
		r.t.Fatalf("%+v %v", res, err)
	}
}

func (r *recorder) send(in wire.Input) uint64 {
	r.t.Helper()
	seq, err := r.s.Input(r.t.Context(), in)
	if err != nil {
		r.t.Fatal(err)
	}
	return seq
}

func (r *recorder) line(text string) { r.rest(r.send(wire.Input{Text: &text, Enter: true})) }

// derive makes a script of what was recorded, and reads it as from a file.
func (r *recorder) derive() ([]byte, *script.Script) {
	r.t.Helper()
	log, err := eventlog.Open(r.s.Dir.Log())
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := r.s.Dir.Inspect()
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := script.Derive(log, script.Options{Command: m.Command, Term: m.Term, Signal: m.ExitSignal, Until: time.Since(m.Created), Styles: true})
	if err != nil {
		r.t.Fatal(err)
	}
	var b strings.Builder
	if err := d.Write(&b); err != nil {
		r.t.Fatal(err)
	}
	s, err := script.Parse([]byte(b.String()))
	if err != nil {
		r.t.Fatalf("%v\n%s", err, b.String())
	}
	return []byte(b.String()), s
}

func player(t *testing.T, dir string, environ []string) *script.Player {
	root := home.Home{Path: filepath.Join(t.TempDir(), "plays"), Explicit: true}
	return &script.Player{Root: root, Options: session.Options{Binary: den}, Environ: environ, Dir: dir, Timeout: patience}
}

// A random session of bash, with cat and less in it, makes a script that passes.
func TestRandomSessionsPlay(t *testing.T) {
	t.Parallel()
	need.Program(t, "bash")
	need.Program(t, "less")
	sessions := 4
	if words := os.Getenv("DEN_SCRIPTS"); words != "" {
		if _, err := fmt.Sscan(words, &sessions); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sessions {
		seed := uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "lines"), []byte(strings.Repeat("one\ntwo\nthree\n\nfive\n", 8)), 0o600); err != nil {
				t.Fatal(err)
			}
			environ := append(os.Environ(), "PS1=$ ", "HISTFILE=", "LESS=", "LC_ALL=C.UTF-8", "HOME="+dir)
			r := start(t, dir, environ, "bash", "--norc", "--noprofile")
			rnd := rand.New(rand.NewPCG(seed, 31))
			for range 6 {
				r.act(rnd)
			}
			if rnd.IntN(2) == 0 {
				status := rnd.IntN(200)
				text := fmt.Sprintf("exit %d", status)
				r.send(wire.Input{Text: &text, Enter: true})
				if res, err := r.s.Wait(t.Context(), wire.Wait{Exit: true, Timeout: patience}); err != nil || !res.Matched {
					t.Fatalf("%+v %v", res, err)
				}
			}
			file, s := r.derive()
			for play := range 2 {
				o, err := player(t, dir, environ).Play(t.Context(), s, dir, nil)
				if err != nil {
					t.Fatal(err)
				}
				if o.Failure != nil {
					t.Fatalf("play %d: line %d: %v\n%s\n%s", play, o.Failure.Line, o.Failure, script.SideBySide(o.Failure.Diff), file)
				}
			}
			if n := strings.Count(string(file), `{"screen":`); n < 1 {
				t.Errorf("the script expects %d screens:\n%s", n, file)
			}
		})
	}
}

// act does one thing at bash's prompt.
func (r *recorder) act(rnd *rand.Rand) {
	r.t.Helper()
	words := []string{"alpha", "beta", "gamma", "über", "x y", "日本"}
	word := words[rnd.IntN(len(words))]
	switch rnd.IntN(8) {
	case 0:
		r.line("echo " + word)
	case 1:
		r.line(fmt.Sprintf("seq %d", 1+rnd.IntN(20)))
	case 2: // typed ahead: nothing is at rest in between
		first, second := "sleep 0.05; echo "+word, "echo second"
		r.send(wire.Input{Text: &first, Enter: true})
		r.rest(r.send(wire.Input{Text: &second, Enter: true}))
	case 3: // by hand, with a mistake
		for _, key := range []string{"e", "c", "h", "p", "Backspace", "o", "Space", "h", "i", "Left", "o", "Enter"} {
			seq := r.send(wire.Input{Keys: []string{key}})
			if rnd.IntN(3) == 0 || key == "Enter" {
				r.rest(seq)
			}
		}
	case 4:
		r.line("cat")
		r.line(word)
		r.rest(r.send(wire.Input{Keys: []string{"C-d"}}))
	case 5:
		r.line("less lines")
		for range 1 + rnd.IntN(4) {
			keys := []string{"Space", "Down", "G", "g", "b"}
			key := keys[rnd.IntN(len(keys))]
			r.send(wire.Input{Keys: []string{key}})
			r.rest(0)
		}
		r.rest(r.send(wire.Input{Keys: []string{"q"}}))
	case 6:
		seq, err := r.s.Resize(r.t.Context(), 40+rnd.IntN(20), 8)
		if err != nil {
			r.t.Fatal(err)
		}
		_ = seq // the shell may have nothing to draw
		r.rest(0)
	case 7:
		res, err := r.s.Run(r.t.Context(), session.Run{Code: "printf '%s\\n' '" + word + "'; false", Timeout: patience})
		if err != nil || res.Err() != nil {
			r.t.Fatalf("%+v %v", res, err)
		}
		r.rest(0)
	}
}

// A program that shows something else fails where it does, and --update takes it
// for what is expected, once.
func TestPlayFailsAndUpdates(t *testing.T) {
	t.Parallel()
	file := []byte(`{"den":1,"command":["sh","-c","echo new; date +%s%N; exec cat"],"cols":30,"rows":5}
{"wait":{"text":"old"}}
# the screen
{"screen":["old",{"regex":"[0-9]+"},null]}
{"keys":["C-d"]}
{"exit":1}
`)
	s, err := script.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := player(t, dir, os.Environ())
	p.Timeout = 2 * time.Second
	kept := errors.New("kept")
	o, err := p.Play(t.Context(), s, dir, func(log *eventlog.Log) error {
		if h, err := log.Header(); err != nil || h.Cols != 30 {
			t.Errorf("%+v %v", h, err)
		}
		return kept
	})
	if f := o.Failure; !errors.Is(err, kept) || f == nil || f.Step != 0 || f.Line != 2 || len(f.Diff) < 2 || f.Diff[0].Got != "new" || f.Diff[0].Same || !f.Diff[1].Same || !strings.HasSuffix(f.Error(), "did not come: text 'old'") {
		t.Fatalf("%+v %v", o.Failure, err)
	}
	p.Timeout, p.Update = patience, true
	if o, err = p.Play(t.Context(), s, dir, nil); err != nil || o.Failure != nil {
		t.Fatalf("%+v %v", o.Failure, err)
	}
	file = script.Rewrite(file, s, o.Changed)
	for _, want := range []string{`{"wait":{"text":"new"}}`, "# the screen\n{\"screen\":[\n  \"new\",\n  {\"regex\":\"[0-9]+\"},\n  null\n]}\n", `{"exit":0}`} {
		if !strings.Contains(string(file), want) {
			t.Errorf("no %s in\n%s", want, file)
		}
	}
	if s, err = script.Parse(file); err != nil {
		t.Fatal(err)
	}
	if o, err = p.Play(t.Context(), s, dir, nil); err != nil || o.Failure != nil || len(o.Changed) > 0 {
		t.Errorf("the second time: %+v %+v %v", o.Failure, o.Changed, err)
	}
}

// What the program printed behind an input that was typed ahead may come before
// that input in a play.
func TestPlayOfWhatWasTypedAhead(t *testing.T) {
	t.Parallel()
	r := record(t)
	r.add(0, "o", "first\r\n")
	r.add(pause/10, "i", "x\r")
	r.add(pause/10, "o", "x\r\nsecond\r\n")
	r.add(pause, "i", "y\r")
	r.add(0, "o", "y\r\nthird\r\n")
	r.add(pause, "x", "0")
	d := r.derive(script.Options{})
	d.Script.Command = []string{"sh", "-c", "printf 'first\\nsecond\\n'; read x; read y; echo third"}
	dir := t.TempDir()
	o, err := player(t, dir, os.Environ()).Play(t.Context(), &d.Script, dir, nil)
	if err != nil || o.Failure != nil {
		t.Errorf("%+v %v", o.Failure, err)
	}
}

// The looks of a screen are waited for as its text is, where no text tells of
// them: of blanks, of a cursor.
func TestPlayWaitsForLooks(t *testing.T) {
	t.Parallel()
	for name, screen := range map[string]string{
		"styles":  `{"rows":["menu"],"styles":["1 0-3 bg=4"]}`,
		"picture": `{"picture":"menu.png"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := script.Parse([]byte(`{"den":1,"command":["sh","-c","printf 'menu\\n'; sleep 0.5; printf '\\033[44m    \\033[m'; exec cat"],"cols":30,"rows":5}
{"wait":{"text":"menu"}}
{"screen":` + screen + `}
`))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			p := player(t, dir, os.Environ())
			want, err := new(steps.Painter).Draw(&steps.Screen{}, shotOf("menu\r\n\x1b[44m    \x1b[m"))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "menu.png"), want, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			o, err := p.Play(t.Context(), s, dir, nil)
			if err != nil || o.Failure != nil || time.Since(begun) > patience {
				t.Errorf("after %v: %+v %v", time.Since(begun), o.Failure, err)
			}
		})
	}
}

func shotOf(output string) *screen.Snapshot {
	term := vt.New(vt.Config{Cols: 30, Rows: 5})
	term.Write([]byte(output))
	shot := screen.Capture(term, 0)
	return &shot
}

// A picture is written by --update, holds for the same screen, and for no screen
// of another colour. What a variable stands for is in none, nor in the script.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(colour string) []byte {
		return []byte(`{"den":1,"command":["sh","-c","printf '\\033[` + colour + `mtitle\\033[m\\nhunter2\\n%25s\\n' hunter2; exec cat"],"cols":22,"rows":5}
{"screen":{"rows":["old"],"picture":"title.png"}}
{"screen":{"picture":"alone.png","tolerance":"1%"}}
`)
	}
	p := player(t, dir, os.Environ())
	var err error
	if p.Hide, err = redact.New([]string{"hunter2"}, false); err != nil {
		t.Fatal(err)
	}
	play := func(file []byte) (*script.Script, script.Outcome) {
		t.Helper()
		s, err := script.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		o, err := p.Play(t.Context(), s, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, o
	}
	first := file("31")
	if _, o := play(first); o.Failure == nil || fault.KindOf(o.Failure) != fault.NotFound {
		t.Fatalf("without a picture: %+v", o.Failure)
	}
	p.Update = true
	s, o := play(first)
	if o.Failure != nil || len(o.Pictures) != 2 {
		t.Fatalf("%+v, %d pictures", o.Failure, len(o.Pictures))
	}
	for path, data := range o.Pictures {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	updated := script.Rewrite(first, s, o.Changed)
	for _, want := range []string{"{\"screen\":{\"rows\":[\n  \"title\",\n  {\"regex\":\".+\"},\n  {\"regex\":\"                  .+\"},\n  {\"regex\":\".+\"}\n],\"picture\":\"title.png\"}}\n", `{"screen":{"picture":"alone.png","tolerance":"1%"}}`} {
		if !strings.Contains(string(updated), want) {
			t.Errorf("no %s in\n%s", want, updated)
		}
	}
	if _, o := play(updated); o.Failure != nil || len(o.Changed)+len(o.Pictures) > 0 {
		t.Errorf("the second time: %+v %+v, %d pictures", o.Failure, o.Changed, len(o.Pictures))
	}
	p.Update = false
	if _, o := play(updated); o.Failure != nil {
		t.Errorf("the same screen: %+v", o.Failure)
	}
	p.Timeout = 2 * time.Second
	_, o = play(bytes.Replace(updated, []byte("[31m"), []byte("[32m"), 1))
	f := o.Failure
	if f == nil || f.Line != 2 || f.Diff != nil || f.Picture == nil || f.Picture.File != "title.png" || f.Picture.Pixels == 0 || f.Picture.Percent > 1 ||
		len(f.Picture.Want) == 0 || len(f.Picture.Got) == 0 || len(f.Picture.Diff) == 0 || !strings.Contains(f.Error(), "of the picture's pixels differ, and 0% may") {
		t.Errorf("another colour: %+v", f)
	}
	// The other picture is within its tolerance.
	if _, o := play(bytes.Replace(bytes.Replace(updated, []byte("[31m"), []byte("[32m"), 1), []byte(`"title.png"`), []byte(`"title.png","tolerance":"1%"`), 1)); o.Failure != nil {
		t.Errorf("within the tolerance: %+v", o.Failure)
	}
	if _, o := play(bytes.Replace(updated, []byte(`"title"`), []byte(`"hunter2"`), 1)); o.Failure == nil || strings.Contains(script.SideBySide(o.Failure.Diff[1:]), "hun") || strings.Contains(script.SideBySide(o.Failure.Diff[1:]), "er2") {
		t.Errorf("the value of a variable is told: %+v", o.Failure)
	}
}
