package terminal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/testkit/need"
	"den/internal/ticks/terminal"
)

func TestNothingWorksBeforeLogin(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	ctx := t.Context()
	_, opened := a.Open(ctx, terminal.OpenArgs{})
	_, typed := a.Type(ctx, terminal.TypeArgs{})
	_, waited := a.Wait(ctx, terminal.WaitArgs{})
	_, closed := a.Close(ctx, terminal.CloseArgs{})
	for name, err := range map[string]error{"open": opened, "type": typed, "wait": waited, "close": closed} {
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "login") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a.LoggedIn() {
		t.Error("logged in")
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	a := newAgent(t, terminal.Startup{Number: 2, Command: "python3 -q", Label: "py"})
	a.config.Notices = []string{"The image could not be built."}
	a.next()
	l := a.login()
	if len(l.Reports) != 2 || lines(l.Reports[0]) != "$" || lines(l.Reports[1]) != ">>>" {
		t.Errorf("%+v", l.Reports)
	}
	text := l.Text()
	for _, want := range []string{"The image could not be built.", "[terminal 0: bash, ready]\n1 new line:\n  $ ", "[terminal 2: py: python3, ready]", "Open terminals: 0 (bash), 2 (py). 18 more of 20 available."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if live := fmt.Sprint(a.Live()); live != "[0 2]" || !a.LoggedIn() {
		t.Errorf("live: %s", live)
	}
	a.enter(0, "bash", "echo kept")
	a.look(0)
	again := a.login()
	if len(again.Reports) != 2 || lines(again.Reports[0]) != "" {
		t.Errorf("a second login: %+v", again)
	}
	a.enter(0, "bash", "echo still there")
	if got := lines(a.look(0)); got != "=$ echo still there|still there|$" {
		t.Error(got)
	}
}

// A startup command runs in the terminal itself, all of its output is shown, and
// a shell follows it.
func TestStartupCommand(t *testing.T) {
	t.Parallel()
	a := newAgent(t, terminal.Startup{Command: "seq 100; false"})
	l := a.login()
	r := l.Reports[0]
	if len(r.Lines.Shown) != 102 || r.Lines.Omitted != 0 {
		t.Fatalf("%d of %d lines: %s", len(r.Lines.Shown), r.Lines.Total, lines(r))
	}
	if got := lines(r); !strings.HasPrefix(got, "1|2|3|") || !strings.HasSuffix(got, "|100|[exited with status 1]|$") {
		t.Error(got)
	}
	a.enter(0, "bash", "echo hi")
	if got := lines(a.look(0)); got != "=$ echo hi|hi|$" {
		t.Error(got)
	}
}

// A startup program is in the terminal's foreground, and its shell is not.
func TestStartupProgram(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	a := newAgent(t, terminal.Startup{Command: "python3 -q"})
	a.login()
	if _, err := a.Type(t.Context(), terminal.TypeArgs{Expect: "bash", Text: "x"}); err == nil || !strings.Contains(err.Error(), "python3") {
		t.Errorf("a shell is expected: %v", err)
	}
	a.enter(0, "python3", "6*7")
	if got := lines(a.look(0)); got != "=>>> 6*7|42|>>>" {
		t.Error(got)
	}
	a.enter(0, "python3", "exit()")
	if r := a.look(0); r.Exit != nil || !strings.HasSuffix(lines(r), "|$") {
		t.Errorf("after its end: %+v", r)
	}
	a.enter(0, "bash", "true")
}

func TestStartupThatFails(t *testing.T) {
	t.Parallel()
	a := newAgent(t, terminal.Startup{Number: 99}, terminal.Startup{Number: 1, Command: "x\x00y"})
	a.config.Warn = nil
	a.next()
	l := a.login()
	if len(l.Failed) != 2 || len(l.Reports) != 1 || !strings.Contains(l.Text(), "Terminal 99 could not be opened") || !a.LoggedIn() {
		t.Errorf("%s", l.Text())
	}
}

func TestTypeChecksInOrder(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	for _, c := range []struct {
		name string
		args terminal.TypeArgs
		kind fault.Kind
		want string // in the error
	}{
		{"nothing to type", terminal.TypeArgs{Expect: "bash"}, fault.Usage, "text is missing"},
		{"text before expect", terminal.TypeArgs{}, fault.Usage, "text is missing"},
		{"both", terminal.TypeArgs{Expect: "bash", Text: "a", Keys: "b"}, fault.Usage, "both text and keys"},
		{"no expect", terminal.TypeArgs{Text: "ls"}, fault.Usage, "expect is missing"},
		{"a blank expect", terminal.TypeArgs{Text: "ls", Expect: " "}, fault.Usage, "expect is missing"},
		{"no terminal", terminal.TypeArgs{Number: 7, Expect: "bash", Text: "ls"}, fault.NotFound, "terminal 7 does not exist"},
		{"no number", terminal.TypeArgs{Number: -1, Expect: "bash", Text: "ls"}, fault.NotFound, "terminal -1 does not exist"},
		{"another program", terminal.TypeArgs{Expect: "vim", Text: "ls"}, fault.Busy, "you expected 'vim', but 'bash' is running"},
		{"no key", terminal.TypeArgs{Expect: "bash", Keys: "<Foo>"}, fault.Usage, `"<Foo>" is no key`},
	} {
		_, err := a.Type(t.Context(), c.args)
		if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%s)", c.name, err, fault.HintOf(err))
		}
	}
	for _, ev := range a.events(a.sessionOf(0)) {
		if _, ok := ev.Input(); ok || ev.Code == "h" {
			t.Errorf("something was sent: %q", ev.Data)
		}
	}
}

func TestTypeAndWait(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	for _, c := range []struct {
		args terminal.TypeArgs
		want string
	}{
		{terminal.TypeArgs{Expect: "bash", Text: "echo hi"}, "=$ echo hi|hi|$"},
		{terminal.TypeArgs{Expect: "BASH", Text: "true"}, "=$ true|$"},
	} {
		a.typed(c.args)
		if got := lines(a.look(0)); got != c.want {
			t.Errorf("%+v shows %s, want %s", c.args, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	no := false
	for _, c := range []struct {
		args terminal.TypeArgs
		want string
	}{
		{terminal.TypeArgs{Keys: "echo ac<Left>b<Enter>"}, "=$ echo abc|abc|$"},
		{terminal.TypeArgs{Keys: "echo Home <lt>b>"}, "=$ echo Home <b>"},
		{terminal.TypeArgs{Text: "C-c"}, "=$ echo Home <b>^C|$"},
		{terminal.TypeArgs{Keys: "Home"}, "=$ Home"},
		{terminal.TypeArgs{Text: "C-u"}, ""},
		{terminal.TypeArgs{Text: "-n", Enter: &no}, "=$ -n"},
		{terminal.TypeArgs{Text: "C-u"}, ""},
		{terminal.TypeArgs{Text: "echo a\necho b"}, "=$ echo a|echo b|a|b|$"},
		{terminal.TypeArgs{Text: "echo 'C-c'"}, "=$ echo 'C-c'|C-c|$"},
		{terminal.TypeArgs{Text: "Enter"}, "$"},
	} {
		c.args.Expect = "bash"
		a.typed(c.args)
		r := a.look(0)
		got := lines(r)
		if c.want == "" { // the line was erased: only the prompt is left of it
			got = strings.TrimPrefix(got, "=$")
		}
		if got != c.want {
			t.Errorf("%+v shows %s, want %s", c.args, got, c.want)
		}
	}
}

// What runs in the foreground must be what the agent expects, and is told.
func TestExpect(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	a := newAgent(t)
	a.login()
	script := filepath.Join(t.TempDir(), "ask.py")
	if err := os.WriteFile(script, []byte("print('you said', input('what? '))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.enter(0, "bash", "python3 "+script)
	r := a.look(0)
	if r.Program != "ask.py" || r.State != terminal.StateReady || !strings.HasSuffix(lines(r), "|what?") {
		t.Errorf("%+v", r)
	}
	inputs := func() (n int) {
		for _, ev := range a.events(a.sessionOf(0)) {
			if _, ok := ev.Input(); ok {
				n++
			}
		}
		return n
	}
	before := inputs()
	for _, wrong := range []string{"bash", "python", "ask.p", "vim"} {
		_, err := a.Type(t.Context(), terminal.TypeArgs{Expect: wrong, Text: "rm -rf x"})
		if err == nil || !strings.Contains(err.Error(), "'"+wrong+"'") || !strings.Contains(err.Error(), "'ask.py'") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if after := inputs(); after != before {
		t.Errorf("%d inputs came to the log", after-before)
	}
	a.enter(0, "Ask.py", "yes")
	if got := lines(a.look(0)); got != "=what? yes|you said yes|$" {
		t.Error(got)
	}
}

// A program that works is in the foreground too.
func TestExpectAtWork(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "sh -c 'echo at work; exec sleep 1000'")
	a.until("sleep works", func() bool {
		r := a.reportOf(a.wait(terminal.WaitArgs{Timeout: seconds(0)}), 0)
		return r.Program == "sleep" && r.State == terminal.StateRunning
	})
	a.until("the last output is in the log", func() bool {
		var all []byte
		for _, ev := range a.events(a.sessionOf(0)) {
			out, _ := ev.Output()
			all = append(all, out...)
		}
		return strings.HasSuffix(string(all), "at work\r\n")
	})
	if _, err := a.typeSeen(terminal.TypeArgs{Expect: "bash", Text: "ls"}); err == nil || !strings.Contains(err.Error(), "'sleep' is running") {
		t.Error(err)
	}
	if _, err := a.typeSeen(terminal.TypeArgs{Expect: "sleep", Text: "C-c"}); err != nil {
		t.Fatal(err)
	}
	if got := lines(a.look(0)); got != "=^C|$" && got != "^C|$" && got != "^C||$" {
		t.Error(got)
	}
}

// Output that the agent has not seen keeps it from typing, in that terminal
// alone.
func TestUnseenOutput(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	other := a.openReady("")
	pipe := fifo(t)
	a.enter(0, "bash", "cat "+pipe+" &")
	a.look(0)
	send(t, pipe, "news\n")
	a.untilScreen(0, "news")
	_, err := a.Type(t.Context(), terminal.TypeArgs{Expect: "bash", Text: "true"})
	if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "terminal 0 has output that you have not seen") || !strings.Contains(fault.HintOf(err), "wait()") {
		t.Fatal(err)
	}
	r := a.typed(terminal.TypeArgs{Number: other, Expect: "bash", Text: "echo elsewhere"})
	if fmt.Sprint(r.Others) != "[0]" || !strings.Contains(r.Text(), "Something new in terminal 0") {
		t.Errorf("%+v", r)
	}
	only := a.wait(terminal.WaitArgs{Number: &other})
	if len(only.Reports) != 1 || lines(only.Reports[0]) != "=$ echo elsewhere|elsewhere|$" || fmt.Sprint(only.Others) != "[0]" {
		t.Errorf("%+v", only)
	}
	if got := lines(a.look(0)); !strings.Contains(got, "news") {
		t.Error(got)
	}
	a.enter(0, "bash", "true")
}

// What became of keystrokes is to be seen before others are sent.
func TestTypingTwice(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "echo one")
	if _, err := a.Type(t.Context(), terminal.TypeArgs{Expect: "bash", Text: "echo two"}); fault.KindOf(err) != fault.Busy || fault.HintOf(err) == "" {
		t.Errorf("at once: %v", err)
	}
	if got := lines(a.look(0)); got != "=$ echo one|one|$" {
		t.Error(got)
	}
	a.enter(0, "bash", "echo two")
}

func TestExit(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.openReady("")
	a.enter(n, "bash", "echo bye; exit 7")
	w := a.wait(terminal.WaitArgs{})
	r := a.reportOf(w, n)
	if w.Reason != terminal.ReasonExit || r.Exit == nil || r.Exit.Code == nil || *r.Exit.Code != 7 || lines(r) != "=$ echo bye; exit 7|bye|exit" || r.State != terminal.StateExited {
		t.Fatalf("%s: %+v", w.Reason, r)
	}
	if want := fmt.Sprintf("system/logs/sessions/tty_%d-tick-001", n); r.Archive != want || !strings.Contains(r.Text(), "process exited (code 7); archived in "+want) {
		t.Errorf("archived in %s", r.Archive)
	}
	if got := a.read(r.Archive + "/status"); !strings.HasPrefix(got, "exited (7)\n") {
		t.Errorf("status: %s", got)
	}
	if got := a.read(r.Archive + "/scrollback"); got != "$ echo bye; exit 7\nbye\nexit\n" {
		t.Errorf("scrollback: %q", got)
	}
	if cast := a.read(r.Archive + "/recording.cast"); !strings.Contains(cast, "bye") || !strings.HasPrefix(cast, `{"version":3`) {
		t.Errorf("recording: %.200s", cast)
	}
	if _, err := os.Stat(filepath.Join(a.config.Data, r.Archive, "raw")); !os.IsNotExist(err) {
		t.Errorf("raw: %v", err)
	}
	if fmt.Sprint(a.Live()) != "[0]" {
		t.Errorf("live: %v", a.Live())
	}
	if again := a.open("exit 3"); again != n {
		t.Errorf("the number is not used again: %d", again)
	}
	if r := a.look(n); r.Exit == nil || *r.Exit.Code != 3 || r.Archive != fmt.Sprintf("system/logs/sessions/tty_%d-tick-001-1", n) {
		t.Errorf("%+v", r)
	}
	left, err := a.home.All()
	if err != nil || len(left) != 1 {
		t.Errorf("sessions that are left: %v, %v", left, err)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.open(`kill -9 $$`)
	if r := a.look(n); r.Exit == nil || r.Exit.Signal != "SIGKILL" {
		t.Errorf("%+v", r)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	pipe := fifo(t)
	n := a.open("echo begun; cat " + pipe)
	w := a.wait(terminal.WaitArgs{Until: "begun"})
	if w.Reason != terminal.ReasonMatch || w.Match != "begun" {
		t.Errorf("%+v", w)
	}
	c, err := a.Close(t.Context(), terminal.CloseArgs{Number: n})
	if err != nil || c.Archive != fmt.Sprintf("system/logs/sessions/tty_%d-tick-001", n) || !strings.Contains(c.Text(), "archived in "+c.Archive) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := a.Close(t.Context(), terminal.CloseArgs{Number: n}); fault.KindOf(err) != fault.NotFound || fault.HintOf(err) == "" {
		t.Errorf("a second time: %v", err)
	}
	if err := a.CloseAll(t.Context()); err != nil || len(a.Live()) != 0 {
		t.Errorf("%v, live %v", err, a.Live())
	}
	if left, err := a.home.All(); err != nil || len(left) != 0 {
		t.Errorf("sessions that are left: %v, %v", left, err)
	}
	w = a.wait(terminal.WaitArgs{})
	w.Duration = 0 // a busy machine takes longer
	if w.Text() != "No terminals are open.\n(nothing new in 0s)" {
		t.Error(w.Text())
	}
}

// What was not seen of a terminal that is closed is told.
func TestCloseTellsTheRest(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "echo unseen")
	a.untilScreen(0, "\nunseen\n")
	c, err := a.Close(t.Context(), terminal.CloseArgs{})
	if err != nil || !strings.Contains(c.Text(), "What you had not seen of it") || !strings.Contains(c.Text(), "\n  unseen") {
		t.Errorf("%s, %v", c.Text(), err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	for i := 1; i < terminal.Max; i++ {
		o, err := a.Open(t.Context(), terminal.OpenArgs{Command: "cat"})
		if err != nil || o.Number != i || o.Free != terminal.Max-1-i || !strings.HasPrefix(o.Text(), fmt.Sprintf("Opened terminal %d (cat). %d more available.", i, o.Free)) {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if _, err := a.Open(t.Context(), terminal.OpenArgs{}); fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), "all 20 terminals") {
		t.Error(err)
	}
	if _, err := a.Close(t.Context(), terminal.CloseArgs{Number: 5}); err != nil {
		t.Error(err)
	}
	if n := a.open("cat"); n != 5 {
		t.Errorf("the lowest free number is not %d", n)
	}
}

func TestLongOutput(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "seq 4000")
	r := a.look(0)
	if r.Lines.Total != 4002 || r.Lines.Omitted != 3982 || !strings.HasPrefix(lines(r), "=$ seq 4000|1|2|") || !strings.HasSuffix(lines(r), "|3999|4000|$") {
		t.Errorf("%+v", r)
	}
	whole, err := os.ReadFile(r.Lines.Whole)
	if err != nil || !strings.Contains(r.Text(), r.Lines.Whole) {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("$ seq 4000\n")
	for i := range 4000 {
		fmt.Fprintln(&want, i+1)
	}
	want.WriteString("$ \n")
	if string(whole) != want.String() {
		t.Errorf("the whole has %d bytes, want %d", len(whole), want.Len())
	}
	if got := a.read("tmp/sessions/tty_0/scrollback"); got != strings.TrimSuffix(want.String(), " \n")+"\n" && got != want.String() {
		t.Errorf("the scrollback has %d bytes, want %d: …%q", len(got), want.Len(), got[max(0, len(got)-40):])
	}
}

func TestProgressBar(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", `for i in 1 2 3; do printf '\rstep %d' $i; read -rs; done; echo`)
	if got := lines(a.look(0)); !strings.HasSuffix(got, "|step 1") {
		t.Error(got)
	}
	a.enter(0, "bash", "Enter")
	if got := lines(a.look(0)); got != "=step 2" {
		t.Error(got)
	}
	a.enter(0, "bash", "Enter")
	if got := lines(a.look(0)); got != "=step 3" {
		t.Error(got)
	}
	a.enter(0, "bash", "Enter")
	if got := lines(a.look(0)); got != "$" {
		t.Error(got)
	}
}

func TestVim(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	a := newAgent(t)
	a.login()
	file := filepath.Join(t.TempDir(), "notes")
	a.enter(0, "bash", "vim -u NONE -i NONE -n "+file)
	r := a.look(0)
	if !r.FullScreen || r.Program != "vim" || len(r.Rows) < 30 || !strings.Contains(r.Text(), "rows omitted") {
		t.Errorf("%+v", r)
	}
	a.keys(0, "vim", "ihello<Enter>world<Esc>")
	r = a.look(0)
	if got := rows(r); !strings.Contains(got, "hello\nworld\n") || len(r.Rows) > 6 {
		t.Errorf("what changed: %s", got)
	}
	if got := a.read("tmp/sessions/tty_0/screen"); !strings.HasPrefix(got, "hello\nworld\n") {
		t.Errorf("the screen's file: %s", got)
	}
	if _, err := a.Type(t.Context(), terminal.TypeArgs{Expect: "bash", Text: "rm -rf x"}); err == nil || !strings.Contains(err.Error(), "'vim' is running") {
		t.Error(err)
	}
	a.keys(0, "vim", ":wq<Enter>")
	r = a.look(0)
	if r.FullScreen || !strings.HasSuffix(lines(r), "$") || strings.Contains(lines(r), "hello") {
		t.Errorf("behind it: %+v", r)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "hello\nworld\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestLess(t *testing.T) {
	t.Parallel()
	need.Program(t, "less")
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "seq 1000 | less")
	r := a.look(0)
	if !r.FullScreen || r.Program != "less" || r.Rows[0].Text != "1" {
		t.Errorf("%+v", r)
	}
	a.keys(0, "less", "G")
	if r := a.look(0); !strings.Contains(rows(r), "\n1000\n") {
		t.Error(rows(r))
	}
	a.keys(0, "less", "q")
	if r := a.look(0); r.FullScreen || !strings.HasSuffix(lines(r), "$") {
		t.Errorf("%+v", r)
	}
}

func TestPython(t *testing.T) {
	t.Parallel()
	need.Program(t, "python3")
	a := newAgent(t)
	a.login()
	n := a.openReady("python3 -q")
	for _, c := range []struct{ text, want string }{
		{"print('a'); print('b')", "|a|b|>>>"},
		{"name = input('name: ')", "|name:"},
		{"den", "=name: den|>>>"},
		{"name", "|'den'|>>>"},
	} {
		a.enter(n, "python3", c.text)
		if got := lines(a.look(n)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s shows %s", c.text, got)
		}
	}
}

// A wait for something that is done already does not wait.
func TestWaitIsAtOnce(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.config.Gather = time.Hour // nothing is listened to for so long
	a.next()
	a.login()
	a.enter(0, "bash", "echo done")
	a.untilScreen(0, "\ndone\n$")
	w := a.wait(terminal.WaitArgs{Timeout: seconds(60)})
	// On a slow machine the output has been there for so long that it is told
	// before anything else is known.
	if (w.Reason != terminal.ReasonReady && w.Reason != terminal.ReasonOutput) || lines(w.Reports[0]) != "=$ echo done|done|$" {
		t.Errorf("%+v", w)
	}
	t.Logf("it took %d ms", w.Duration)
}

// A program that open has shown waiting is not waited for, but once.
func TestWaitBehindOpen(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	n := a.open("cat")
	if w := a.wait(terminal.WaitArgs{Timeout: seconds(60)}); w.Reason != terminal.ReasonReady || a.reportOf(w, n).State != terminal.StateReady {
		t.Errorf("%s after %d ms: %s", w.Reason, w.Duration, w.Text())
	}
	if w := a.wait(terminal.WaitArgs{Timeout: seconds(0)}); w.Reason != terminal.ReasonTimeout {
		t.Errorf("told again: %s", w.Reason)
	}
	// Keystrokes for another terminal are what is waited for.
	a.openReady("cat")
	a.enter(n, "cat", "hi")
	if w := a.wait(terminal.WaitArgs{Timeout: seconds(60)}); lines(a.reportOf(w, n)) == "" {
		t.Errorf("%s: %s", w.Reason, w.Text())
	}
}

// A pause of a program is not its end, however long it is.
func TestWaitIsNotFooledBySilence(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", "echo one; sleep 2.5; echo two")
	w := a.wait(terminal.WaitArgs{Timeout: seconds(60)})
	if got := lines(w.Reports[0]); w.Reason != terminal.ReasonReady || got != "=$ echo one; sleep 2.5; echo two|one|two|$" {
		t.Errorf("%s: %s", w.Reason, got)
	}
}

// A program that waits for something from outside is told of when it is silent.
func TestServer(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	pipe := fifo(t)
	a.enter(0, "bash", "echo serving; cat "+pipe)
	w := a.wait(terminal.WaitArgs{Timeout: seconds(60)})
	if r := w.Reports[0]; w.Reason != terminal.ReasonSilence || r.State != terminal.StateRunning || !strings.HasSuffix(lines(r), "|serving") {
		t.Errorf("%s: %+v", w.Reason, r)
	}
	send(t, pipe, "a request\n")
	if got := lines(a.look(0)); got != "a request|$" {
		t.Error(got)
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	pipe := fifo(t)
	a.enter(0, "bash", "cat "+pipe+"; seq 500; echo finished; cat "+pipe)
	matched := a.waits(terminal.WaitArgs{Until: "^fin.*hed$", Timeout: seconds(60)})
	send(t, pipe, "go\n") // the echo of the command, which was there before, did not match
	w := <-matched
	if w.Reason != terminal.ReasonMatch || w.Match != "finished" || !strings.Contains(w.Text(), "(matched: finished)") {
		t.Errorf("%+v", w)
	}
	send(t, pipe, "")
	a.look(0)
	a.enter(0, "bash", "echo nothing")
	w = a.wait(terminal.WaitArgs{Until: "never", Timeout: seconds(60)})
	if w.Reason != terminal.ReasonReady || !strings.Contains(w.Text(), `(nothing matched "never"`) {
		t.Errorf("%+v", w)
	}
	if _, err := a.Wait(t.Context(), terminal.WaitArgs{Until: "("}); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Error(err)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	notification := make(chan struct{})
	interrupted := a.waits(terminal.WaitArgs{Interrupt: notification, Timeout: seconds(60)})
	notification <- struct{}{}
	if w := <-interrupted; w.Reason != terminal.ReasonInterrupted || !strings.Contains(w.Text(), "(interrupted") {
		t.Errorf("%+v", w)
	}
}

func TestNothingNew(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	w := a.wait(terminal.WaitArgs{Timeout: seconds(1)})
	w.Duration = min(w.Duration, 1000) // a busy machine takes longer
	if w.Reason != terminal.ReasonTimeout || w.Text() != "[terminal 0: bash, ready] no change\n(nothing new in 1s)" {
		t.Errorf("%s", w.Text())
	}
	if _, err := a.Wait(t.Context(), terminal.WaitArgs{Number: seconds(4)}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// Output without an end is told of, and its program can be stopped.
func TestEndlessOutput(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.config.Gather = 2 * time.Second
	a.next()
	a.login()
	// No faster than a slow machine reads: all of it is looked at before the
	// prompt.
	a.enter(0, "bash", "exec 9<> <(:); while :; do echo x; read -rt 0.001 -u 9; done")
	a.wait(terminal.WaitArgs{Timeout: seconds(1)})
	w := a.wait(terminal.WaitArgs{Timeout: seconds(60)})
	if r := w.Reports[0]; w.Reason != terminal.ReasonOutput || r.Lines.Total < 50 || r.State == terminal.StateReady {
		t.Errorf("%s: %d lines, %s", w.Reason, r.Lines.Total, r.State)
	}
	if _, err := a.Type(t.Context(), terminal.TypeArgs{Expect: "bash", Text: "C-c"}); fault.KindOf(err) != fault.Busy || !strings.Contains(fault.HintOf(err), "anyway") {
		t.Error(err)
	}
	a.typed(terminal.TypeArgs{Expect: "bash", Text: "C-c", Anyway: true})
	// The prompt is there a moment before the shell reads: words that do not come
	// wait for that.
	w = a.wait(terminal.WaitArgs{Until: "never", Timeout: seconds(60)})
	if r := w.Reports[0]; w.Reason != terminal.ReasonReady || r.State != terminal.StateReady || !strings.HasSuffix(lines(r), "|$") {
		t.Errorf("%s: %s: %s", w.Reason, r.State, lines(r))
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.login()
	a.enter(0, "bash", `printf '\033[31mred\033[0m\n'`)
	a.look(0)
	dir := "tmp/sessions/tty_0/"
	for name, want := range map[string]string{
		"screen":      "\nred\n$\n",
		"screen.ansi": "\x1b[38;5;1mred\x1b[0m",
		"scrollback":  "\nred\n$ \n",
		"raw":         "\x1b[31mred\x1b[0m",
		"status":      "idle\ncommand: bash\nprogram: bash\n",
	} {
		if got := a.read(dir + name); !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, want := range []string{`"tty_0"`, `"command": "bash"`, `"current_command": "bash"`, `"status": "idle"`, `"created"`, `"last_activity"`} {
		if got := a.read("tmp/sessions/registry.json"); !strings.Contains(got, want) {
			t.Errorf("the registry lacks %s: %s", want, got)
		}
	}
	a.enter(0, "bash", "head -c 3000000 /dev/zero | tr '\\0' x")
	for a.look(0).State != terminal.StateReady { // long output is told of while it comes
	}
	if raw := a.read(dir + "raw"); len(raw) > 2_000_000 || len(raw) < 900_000 || !strings.HasSuffix(strings.TrimRight(raw, "\x07\x1b\\"), "x") && !strings.Contains(raw[len(raw)-200:], "$ ") {
		t.Errorf("raw has %d bytes", len(raw))
	}
}

// Links and pipes that an agent puts in the place of files lead nowhere.
func TestFilesOfAnAgentThatLies(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	warned := make(chan error, 100)
	a.config.Warn = func(err error) {
		select {
		case warned <- err:
		default: // enough are known
		}
	}
	a.next()
	a.login()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(a.config.Data, "tmp/sessions/tty_0")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), dir); err != nil {
		t.Fatal(err)
	}
	a.enter(0, "bash", "echo hi")
	r := a.look(0)
	if got := lines(r); got != "=$ echo hi|hi|$" || len(r.Notes) == 0 {
		t.Errorf("%s; notes %v", got, r.Notes)
	}
	if <-warned == nil {
		t.Error("nobody was warned")
	}
	entries, err := os.ReadDir(filepath.Dir(secret))
	if err != nil || len(entries) != 1 {
		t.Errorf("files were written there: %v, %v", entries, err)
	}
}

// An agent that asks for bash on a machine without it gets the shell that there
// is.
func TestMachineWithoutBash(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, startup := range map[string][]terminal.Startup{
		"by default":   nil,
		"by its name":  {{Number: 0, Command: "bash"}},
		"by a command": {{Number: 0, Command: "echo first"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
				t.Fatal(err)
			}
			a := newAgent(t, startup...)
			place := a.config.Place.(terminal.Native)
			place.Env = []string{"PATH=" + bin, "HOME=" + bin, "ENV="}
			a.config.Place = place
			a.next()
			l := a.login()
			if len(l.Failed) > 0 || len(l.Reports) != 1 {
				t.Fatalf("%+v", l)
			}
			n := a.openReady("")
			for number, expect := range map[int]string{0: map[bool]string{true: "sh", false: "bash"}[name == "by a command"], n: "bash"} {
				a.typed(terminal.TypeArgs{Number: number, Expect: expect, Text: "echo it is $((6*7)) in $0", Anyway: true})
				if w := a.wait(terminal.WaitArgs{Number: &number, Until: "it is 42 in .*sh"}); w.Reason != terminal.ReasonMatch {
					t.Errorf("terminal %d: %s", number, w.Text())
				}
			}
		})
	}
}
