package terminal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/screen/eventlog"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/testkit/dentest"
	"den/internal/ticks/terminal"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds den, and keeps its sockets and the shells' files apart from those
// of people. As a helper of a test it prints instead.
func run(m *testing.M) int {
	if seed := os.Getenv(helperSeed); seed != "" {
		return prints(seed)
	}
	dir, err := os.MkdirTemp("/tmp", "den-kt-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	os.Setenv("DEN_RUN_DIR", filepath.Join(dir, "run"))
	if err := os.WriteFile(filepath.Join(dir, ".bashrc"), []byte("PS1='$ '\n"), 0o600); err != nil { // behind the system's own
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("HOME", dir) // only now: the build's cache is below it
	return m.Run()
}

// patience bounds what must happen; nothing waits for it to pass.
const patience = 2 * time.Minute

// agent is an agent with terminals, and the files of its instance.
type agent struct {
	*terminal.Set
	tb     testing.TB
	config terminal.Config
	home   home.Home
}

// newAgent makes an instance. Its terminals end with the test.
func newAgent(tb testing.TB, startup ...terminal.Startup) *agent {
	tb.Helper()
	dir := tb.TempDir()
	a := &agent{tb: tb, home: home.Home{Path: filepath.Join(dir, "home"), Explicit: true}}
	a.config = terminal.Config{
		Name: "agent", Data: filepath.Join(dir, "data"), State: filepath.Join(dir, "state"), Tick: 1, Startup: startup,
		Place: terminal.Native{
			Home: a.home, Options: session.Options{Version: "test", Binary: den}, Dir: dir,
			Env: append(os.Environ(), "PYTHON_COLORS=0"),
		},
		Warn: func(err error) { tb.Errorf("warned of: %v", err) },
	}
	if err := os.Mkdir(a.config.Data, 0o700); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(a.killAll)
	a.next()
	return a
}

// next begins another tick, with the sessions and files that are there.
func (a *agent) next() {
	a.tb.Helper()
	set, err := terminal.New(a.config)
	if err != nil {
		a.tb.Fatal(err)
	}
	a.Set = set
	a.tb.Cleanup(func() {
		if err := set.Detach(); err != nil {
			a.tb.Error(err)
		}
	})
}

// killAll ends every session of the instance.
func (a *agent) killAll() {
	all, err := a.home.All()
	if err != nil {
		a.tb.Error(err)
	}
	for _, d := range all {
		if _, err := session.In(d, session.Options{}).Kill(context.Background(), time.Second); err != nil {
			a.tb.Error(err)
		}
	}
}

func (a *agent) login() terminal.Login {
	a.tb.Helper()
	l, err := a.Login(a.tb.Context())
	if err != nil {
		a.tb.Fatal(err)
	}
	return l
}

func (a *agent) open(command string) int {
	a.tb.Helper()
	o, err := a.Open(a.tb.Context(), terminal.OpenArgs{Command: command})
	if err != nil {
		a.tb.Fatal(err)
	}
	return o.Number
}

// openReady opens a terminal whose program waits for input, and sees that.
func (a *agent) openReady(command string) int {
	a.tb.Helper()
	o, err := a.Open(a.tb.Context(), terminal.OpenArgs{Command: command})
	if err != nil {
		a.tb.Fatal(err)
	}
	first := o.First
	a.until("the program is ready", func() bool {
		if first == nil || first.State != terminal.StateReady { // it takes its time
			r := a.reportOf(a.wait(terminal.WaitArgs{Number: &o.Number}), o.Number)
			first = &r
		}
		return first.State == terminal.StateReady
	})
	return o.Number
}

// typed types what must be taken.
func (a *agent) typed(args terminal.TypeArgs) terminal.Typed {
	a.tb.Helper()
	r, err := a.Type(a.tb.Context(), args)
	if err != nil {
		a.tb.Fatal(err)
	}
	return r
}

// enter types a line at a program.
func (a *agent) enter(number int, expect, text string) {
	a.tb.Helper()
	a.typed(terminal.TypeArgs{Number: number, Expect: expect, Text: text})
}

// typeSeen types as an agent does that is told of output that it has not seen:
// it looks, and types again. Nobody knows when a program that works prints.
func (a *agent) typeSeen(args terminal.TypeArgs) (r terminal.Typed, err error) {
	a.tb.Helper()
	a.until("all of its output was seen", func() bool {
		r, err = a.Type(a.tb.Context(), args)
		unseen := fault.KindOf(err) == fault.Busy && strings.Contains(err.Error(), "output that you have not seen")
		if unseen {
			a.wait(terminal.WaitArgs{Timeout: seconds(0)})
		}
		return !unseen
	})
	return r, err
}

// until waits for something that nobody tells.
func (a *agent) until(what string, holds func() bool) {
	a.tb.Helper()
	ctx, cancel := context.WithTimeout(a.tb.Context(), patience)
	defer cancel()
	if err := poll.Until(ctx, func() (bool, error) { return holds(), nil }); err != nil {
		a.tb.Fatalf("waiting until %s: %v", what, err)
	}
}

// keys presses keys.
func (a *agent) keys(number int, expect, keys string) {
	a.tb.Helper()
	a.typed(terminal.TypeArgs{Number: number, Expect: expect, Keys: keys})
}

// wait waits with what is given.
func (a *agent) wait(args terminal.WaitArgs) terminal.Waited {
	a.tb.Helper()
	ctx, cancel := context.WithTimeout(a.tb.Context(), patience)
	defer cancel()
	w, err := a.Wait(ctx, args)
	if err != nil {
		a.tb.Fatal(err)
	}
	return w
}

// waits is wait beside the test.
func (a *agent) waits(args terminal.WaitArgs) <-chan terminal.Waited {
	out := make(chan terminal.Waited, 1)
	go func() {
		w, err := a.Wait(a.tb.Context(), args)
		if err != nil {
			a.tb.Error(err)
		}
		out <- w
	}()
	return out
}

// untilScreen waits until the file of a terminal's screen has a text, which it
// has soon after the screen.
func (a *agent) untilScreen(number int, text string) {
	a.tb.Helper()
	ctx, cancel := context.WithTimeout(a.tb.Context(), patience)
	defer cancel()
	name := filepath.Join(a.config.Data, fmt.Sprintf("tmp/sessions/tty_%d/screen", number))
	err := poll.Until(ctx, func() (bool, error) {
		raw, err := os.ReadFile(name)
		return strings.Contains(string(raw), text), err
	})
	if err != nil {
		a.tb.Fatalf("waiting for %q on the screen: %v", text, err)
	}
}

// look waits until something is ready, and returns the report of a terminal.
func (a *agent) look(number int) terminal.Report {
	a.tb.Helper()
	return a.reportOf(a.wait(terminal.WaitArgs{Timeout: seconds(60)}), number)
}

func (a *agent) reportOf(w terminal.Waited, number int) terminal.Report {
	a.tb.Helper()
	for _, r := range w.Reports {
		if r.Number == number {
			return r
		}
	}
	a.tb.Fatalf("no report of terminal %d: %+v", number, w)
	return terminal.Report{}
}

func seconds(n int) *int { return &n }

// lines are those of a report, by "|".
func lines(r terminal.Report) string {
	var all []string
	for _, l := range r.Lines.Shown {
		text := strings.TrimRight(l.Text, " ")
		if l.Again {
			text = "=" + text
		}
		if l.Redrawn {
			text = "~" + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "|")
}

// rows are those of a full screen, as text.
func rows(r terminal.Report) string {
	var b strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintln(&b, row.Text)
	}
	return b.String()
}

// read reads a file of the data repository.
func (a *agent) read(name string) string {
	a.tb.Helper()
	raw, err := os.ReadFile(filepath.Join(a.config.Data, name))
	if err != nil {
		a.tb.Fatal(err)
	}
	return string(raw)
}

// sessionOf returns the directory of a terminal's session.
func (a *agent) sessionOf(number int) home.Dir {
	a.tb.Helper()
	var list map[string]struct {
		Session string `json:"session"`
	}
	if err := json.Unmarshal([]byte(a.read("tmp/sessions/registry.json")), &list); err != nil {
		a.tb.Fatal(err)
	}
	return a.home.Dir(list[fmt.Sprintf("tty_%d", number)].Session)
}

// events are those of a session's log.
func (a *agent) events(d home.Dir) []eventlog.Event {
	a.tb.Helper()
	log, err := eventlog.Open(d.Log())
	if err != nil {
		a.tb.Fatal(err)
	}
	var all []eventlog.Event
	for ev, err := range log.Events(0) {
		if err != nil {
			a.tb.Fatal(err)
		}
		ev.Data = append([]byte(nil), ev.Data...)
		all = append(all, ev)
	}
	return all
}

// fifo is a pipe on which a program can wait for the test.
func fifo(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// send lets the reader of a fifo go on with a text.
func send(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		tb.Fatal(err)
	}
}
