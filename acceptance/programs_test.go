package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"den/internal/session/cell"
	"den/internal/testkit/need"
	"den/internal/testkit/servertest"
)

// program is a real program and what its cells must say.
type program struct {
	name   string
	needs  string   // the executable, which may be missing
	pkg    string   // what to install then
	argv   []string // of new, after the name
	by     cell.By
	or     cell.By // a program with a timer of its own may be known by either
	inputs []input
}

// input is one cell.
type input struct {
	code string
	out  string // exact
	like string // or a pattern for all of it, where versions differ
	by   cell.By
	exit int // for shells, and for a program that ends

	busy    string   // fire it, wait for this on the screen, press Ctrl-C
	waits   string   // it asks before it is done
	fire    bool     // do not ask whether it asks
	asks    string   // the output then, a pattern
	shows   string   // wait for this on the screen before the answer
	answer  []string // a verb and what follows the session
	minimum int      // how long it takes at least, in milliseconds
	secret  string   // must not be in the log
}

func TestPrograms(t *testing.T) {
	need.Long(t, "starts twenty programs")
	w := newWorld(t)
	w.env = append(w.env, "LC_ALL=C.UTF-8", "PAGER=cat", "fish_greeting=")
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, p.needs)
			mine := *w
			mine.t = t
			argv := p.argv
			switch p.name {
			case "psql":
				argv = append(argv, "-h", servertest.Postgres(t))
			case "redis":
				argv = append(argv, "-p", startRedis(t))
			}
			t.Cleanup(func() { mine.try("kill", p.name, "--grace", "1s") }) // it may have ended by itself
			mine.do(append([]string{"new", p.name, "--cwd", t.TempDir()}, argv...)...)
			for _, in := range p.inputs {
				mine.give(p, in)
			}
		})
	}
}

// give runs one cell to its end and checks all that is said of it.
func (w *world) give(p program, in input) {
	w.t.Helper()
	if in.busy != "" {
		w.interrupt(p, in)
		return
	}
	verb := "run"
	if in.fire {
		verb = "fire"
	}
	out, errOut, code := w.try(verb, p.name, in.code, "-j")
	r := w.decode(in, out+errOut)
	if in.answer != nil {
		asked := code == 13 && r.Status == cell.Running && r.WaitingFor == in.waits && whole(in.asks, r.Output)
		if !in.fire && !asked {
			w.t.Fatalf("%s: exit %d, want one that waits for %s with output %q:\n%s", in.code, code, in.waits, in.asks, out)
		}
		if in.shows != "" {
			w.do("wait", p.name, "--text", in.shows)
		}
		w.do(append([]string{in.answer[0], p.name}, in.answer[1:]...)...)
		w.do("events", p.name, r.CellID, "-1") // returns when the cell ends
		out, errOut, code = w.try("poll", p.name, r.CellID, "-j")
		r = w.decode(in, out+errOut)
	}
	by := p.by
	switch {
	case in.by != "":
		by = in.by
	case p.or != "" && r.By == p.or:
		by = p.or
	}
	right := r.Output == in.out
	if in.like != "" {
		right = whole(in.like, r.Output)
	}
	if code != 0 || r.Status != cell.Done || !right || r.By != by || r.WaitingFor != "" {
		w.t.Fatalf("%s: exit %d\n%s\nwant done by %s with output %q%s", in.code, code, out, by, in.out, in.like)
	}
	w.checkExit(in, r, by == cell.ByShell || by == cell.ByExit)
	if r.DurationMS < int64(in.minimum) {
		w.t.Errorf("%s: took %d ms, which cannot be", in.code, r.DurationMS)
	}
	if in.secret != "" {
		w.mustNotLog(p.name, in.secret)
	}
}

// interrupt fires a cell, waits until it is busy and presses Ctrl-C.
func (w *world) interrupt(p program, in input) {
	w.t.Helper()
	w.do("fire", p.name, in.code)
	w.do("wait", p.name, "--text", in.busy)
	if out, _, code := w.try("run", p.name, "refused", "-j"); code != 5 || !strings.Contains(out, `"kind":"busy"`) {
		w.t.Fatalf("%s: a second cell: exit %d, want 5\n%s", in.code, code, out)
	}
	r := w.decode(in, w.do("int", p.name, "-j"))
	if r.Status != cell.Done || !r.Interrupted || r.By != p.by && r.By != p.or && r.By != cell.ByInt ||
		r.Output != "" && !strings.Contains(r.Output, in.busy) { // a full screen leaves none
		w.t.Fatalf("%s: interrupted: %+v", in.code, r)
	}
	w.checkExit(in, r, p.by == cell.ByShell)
}

func (w *world) checkExit(in input, r cell.Result, known bool) {
	w.t.Helper()
	switch {
	case known && (r.ExitCode == nil || *r.ExitCode != in.exit):
		w.t.Errorf("%s: exit code %s, want %d", in.code, showExit(r.ExitCode), in.exit)
	case !known && r.ExitCode != nil:
		w.t.Errorf("%s: exit code %d, from a program that has none", in.code, *r.ExitCode)
	}
}

func showExit(code *int) string {
	if code == nil {
		return "unknown"
	}
	return strconv.Itoa(*code)
}

func (w *world) decode(in input, out string) cell.Result {
	w.t.Helper()
	var r cell.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.CellID == "" {
		w.t.Fatalf("%s: no cell in the answer (%v):\n%s", in.code, err, out)
	}
	return r
}

// mustNotLog looks for a secret in all that is kept of a session.
func (w *world) mustNotLog(name, secret string) {
	w.t.Helper()
	d, err := w.home.Find(name)
	if err != nil {
		w.t.Fatal(err)
	}
	err = filepath.WalkDir(d.Path, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), secret) {
			w.t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// whole reports whether a pattern matches all of s.
func whole(pattern, s string) bool {
	return regexp.MustCompile(`^(?s:` + pattern + `)$`).MatchString(s)
}

const (
	pyFunction = "def f(n):\n    return n + 1\n\nprint(f(4))"
	pyError    = `Traceback \(most recent call last\):\n  File "<[^>]+>", line 1, in <module>\n.*ZeroDivisionError: division by zero`
	pyBusy     = `while not print("bu" + "sy"): __import__("time").sleep(100)`
)

var pythonInputs = []input{
	{code: "print('a\\nb')", out: "a\nb"},
	{code: "x = 1"},
	{code: "'日本'", out: "'日本'"},
	{code: "1/0", like: pyError},
	{code: pyFunction, out: "5"},
	{code: "import time; time.sleep(0.3); print('slow')", out: "slow", minimum: 300},
	{code: pyBusy, busy: "busy"},
	{code: "y = input('name? ')", waits: "input", asks: `name\? `, answer: []string{"type", "bob", "--enter"}, out: "name? bob"},
	{code: "y", out: "'bob'"},
	{code: "(1,", waits: "continuation", asks: `\.\.\. `, answer: []string{"type", "2)", "--enter"}, out: "... 2)\n(1, 2)"},
	{code: "exit(3)", by: cell.ByExit, exit: 3},
}

// shellInputs work in any shell.
var shellInputs = []input{
	{code: "echo hello", out: "hello"},
	{code: "true"},
	{code: "false", exit: 1},
	{code: "sh -c 'exit 7'", exit: 7},
	{code: "nosuchcommand", like: ".*nosuchcommand.*", exit: 127},
	{code: "echo one\necho two", out: "one\ntwo"},
	{code: "echo 'a\nb'", out: "a\nb"},
	{code: "sleep 0.3; echo slow", out: "slow", minimum: 300},
	{code: "echo bu''sy; sleep 100", busy: "busy", exit: 130},
	{code: "cd /; pwd", out: "/"},
	{code: "printf 'no newline'", out: "no newline"},
	{code: "exit 9", by: cell.ByExit, exit: 9, like: "(exit)?"}, // bash says it
}

var programs = []program{
	{name: "python", needs: "python3", pkg: "python3", argv: []string{"python3", "-q"}, by: cell.ByReady, inputs: pythonInputs},
	{
		name: "python-dumb", needs: "python3", pkg: "python3", by: cell.ByReady,
		argv: []string{"--term", "dumb", "python3", "-I", "-q"}, inputs: pythonInputs,
	},
	{
		name: "python-without-readline", needs: "python3", pkg: "python3", by: cell.ByReady,
		argv:   []string{"python3", "-q", "-i", "-c", "import sys; sys.modules['readline'] = None"},
		inputs: pythonInputs,
	},
	{name: "sqlite", needs: "sqlite3", pkg: "sqlite3", argv: []string{"sqlite3"}, by: cell.ByReady, inputs: []input{
		{code: "select 1+1;", out: "2"},
		{code: "create table t(a);"},
		{code: "nonsense;", like: `.*near "nonsense": syntax error.*`},
		{code: "select 1,\n2;", out: "1|2"},
		{code: ".shell sleep 0.3; echo slow", out: "slow", minimum: 300},
		{code: "select 'bu'||'sy'; with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c;", busy: "busy"},
		{code: "select 5", waits: "continuation", asks: ` +\.\.\.> `, answer: []string{"type", ";", "--enter"}, out: "   ...> ;\n5"},
		{code: ".exit 3", by: cell.ByExit, exit: 3},
	}},
	{name: "gdb", needs: "gdb", pkg: "gdb", argv: []string{"gdb", "-q", "-nx"}, by: cell.ByReady, inputs: []input{
		{code: "print 6*7", out: "$1 = 42"},
		{code: "set $x = 1"},
		{code: "print nosuch", out: `No symbol table is loaded.  Use the "file" command.`},
		{code: "print 1\nprint 2", out: "$2 = 1\n$3 = 2"},
		{code: "if 1\nprint 5\nend", out: "$4 = 5"},
		{code: "shell sleep 0.3; echo slow", out: "slow", minimum: 300},
		{code: "while 1\nset $x = $x+1\nif $x == 9\nprintf \"at %d\\n\", $x\nend\nend", busy: "at 9"},
		{code: "print 8", out: "$5 = 8"},
	}},
	{name: "bc", needs: "bc", pkg: "bc", argv: []string{"bc", "-q"}, by: cell.ByReady, inputs: []input{
		{code: "6*7", out: "42"},
		{code: "x=1"},
		{code: "1/0", like: ".*[Dd]ivide by (zero|0).*"},
		{code: "define f(n) {\nreturn n+1\n}\nf(4)", out: "5"},
		{code: "for (i = 0; i < 300000; i++) x += 1; x", out: "300001"}, // it has no sleep
		{code: "print \"bu\", \"sy\\n\"; while (1) x=1", busy: "busy"},
		{code: "2+2", out: "4"},
	}},
	{name: "dc", needs: "dc", pkg: "dc", argv: []string{"dc"}, by: cell.ByReady, inputs: []input{
		{code: "6 7*p", out: "42"},
		{code: "1 sx"},
		{code: "1 0/", like: "dc: divide by zero"},
		{code: "1p\n2p", out: "1\n2"},
		{code: "!sleep 0.3; echo slow", out: "slow", minimum: 300},
		{code: "[bu]n[sy]n10an[lax]sa lax", busy: "busy"},
		{code: "2p", out: "2"},
	}},
	{name: "lua", needs: "lua5.4", pkg: "lua5.4", argv: []string{"lua5.4"}, by: cell.ByReady, inputs: []input{
		{code: "print(6*7)", out: "42"},
		{code: "x = 1"},
		{code: "error('boom')", like: `stdin:1: boom\nstack traceback:\n.*`},
		{code: "for i = 1, 2 do\n  print(i)\nend\nprint('end')", out: "1\n2\nend"},
		{code: "x = [[a\n\nb]]"},
		{code: "print(x)", out: "a\n\nb"},
		{code: "print(", waits: "continuation", asks: `>> `, answer: []string{"type", "7)", "--enter"}, out: ">> 7)\n7"},
		{code: "os.execute('sleep 0.3') print('slow')", out: "slow", minimum: 300},
		{code: "print('bu'..'sy') while true do end", busy: "busy"},
		{code: "2+2", out: "4"},
		{code: "os.exit(3)", by: cell.ByExit, exit: 3},
	}},
	{name: "node", needs: "node", pkg: "nodejs", argv: []string{"node"}, by: cell.ByReady, or: cell.ByLearned, inputs: []input{
		{code: "6*7", out: "42"},
		{code: "var x = 1", out: "undefined"},
		{code: "console.log('a\\nb')", out: "a\nb\nundefined"},
		{code: "throw new Error('boom')", out: "Uncaught Error: boom"},
		{code: "function f(n) {\nreturn n+1\n}\nf(4)", out: "undefined\n5"},
		{code: "await new Promise(r => setTimeout(r, 300)); 'slow'", out: "'slow'", minimum: 300},
		{code: "console.log('bu'+'sy'); while (true);", busy: "busy"},
		{code: "2+2", out: "4"},
		{code: "process.exit(3)", by: cell.ByExit, exit: 3},
	}},
	{name: "irb-single-line", needs: "irb", pkg: "irb", argv: []string{"irb", "-f", "--nomultiline"}, by: cell.ByReady, inputs: []input{
		{code: "6*7", out: "=> 42"},
		{code: "puts \"a\\nb\"", out: "a\nb\n=> nil"},
		{code: "1/0", like: `\(irb\):3:in .*divided by 0 \(ZeroDivisionError\)\n.*`},
		{code: "def f(n)\n  n+1\nend\nf(4)", out: "=> :f\n=> 5"},
		{code: "sleep 0.3; puts 'slow'", out: "slow\n=> nil", minimum: 300},
		{code: "puts 'bu'+'sy'; loop {}", busy: "busy"},
		{code: "2+2", out: "=> 4"},
	}},
	{name: "psql", needs: "psql", pkg: "postgresql", argv: []string{"psql", "-X", "-U", "postgres"}, by: cell.ByReady, inputs: []input{
		{code: "select 6*7 as x;", out: " x  \n----\n 42\n(1 row)\n"},
		{code: "\\set y 1"},
		{code: "create table t(a int);", out: "CREATE TABLE"},
		{code: "nonsense;", out: "ERROR:  syntax error at or near \"nonsense\"\nLINE 1: nonsense;\n        ^"},
		{code: "select 1 as a,\n2 as b;", out: " a | b \n---+---\n 1 | 2\n(1 row)\n"},
		{code: "select 'slow' as s from pg_sleep(0.3);", out: "  s   \n------\n slow\n(1 row)\n", minimum: 300},
		{code: "\\echo bu''sy\nselect pg_sleep(100);", busy: "busy"},
		{code: "\\echo after", out: "after"},
		{code: "\\q", by: cell.ByExit},
	}},
	{name: "redis-alone", needs: "redis-cli", pkg: "redis-tools", argv: []string{"redis-cli", "-p", "1"}, by: cell.ByReady, inputs: []input{
		{code: "PING", like: `Could not connect to Redis at 127\.0\.0\.1:1: Connection refused`},
		{code: "help @nosuch"},
		{code: "quit", by: cell.ByExit},
	}},
	{name: "redis", needs: "redis-cli", pkg: "redis-tools", argv: []string{"redis-cli"}, by: cell.ByReady, inputs: []input{
		{code: "PING", out: "PONG"},
		{code: "SET a 'two words'", out: "OK"},
		{code: "GET a", out: `"two words"`},
		{code: "GET nothing", out: "(nil)"},
		{code: "NONSENSE", out: "(error) ERR unknown command 'NONSENSE'"},
		{code: "SET b 1\nGET b", out: "OK\n\"1\""},
		{code: "KEYS *", out: "1) \"a\"\n2) \"b\""},
		{code: "SLEEP 0.3", out: "OK", minimum: 300},
		{code: "help @nosuch"},
		{code: "MONITOR", busy: "watching"}, // Ctrl-C ends the program
	}},
	{name: "bash", needs: "bash", pkg: "bash", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: shellInputs},
	{name: "zsh", needs: "zsh", pkg: "zsh", argv: []string{"zsh"}, by: cell.ByShell, inputs: shellInputs},
	{name: "fish", needs: "fish", pkg: "fish", argv: []string{"fish"}, by: cell.ByShell, inputs: shellInputs},
	{name: "dash", needs: "dash", pkg: "dash", argv: []string{"dash"}, by: cell.ByShell, inputs: shellInputs},
	{
		name: "read", needs: "sh", pkg: "dash", by: cell.ByReady,
		argv: []string{"sh", "-c", `read x; echo "got $x"; read y; sleep 0.3; read z; echo "and $y$z"; exit 4`},
		inputs: []input{
			{code: "one", out: "got one"},
			{code: "two", minimum: 300},
			{code: "three", out: "and twothree", by: cell.ByExit, exit: 4},
		},
	},
	{name: "questions", needs: "bash", pkg: "bash", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{
			code:  `stty -echo; printf "Password: "; read p; stty echo; echo; echo "${#p} letters"`,
			waits: "input", asks: "Password: ", answer: []string{"type", "hunter2secret", "--enter"},
			out: "Password: \n13 letters", secret: "hunter2secret",
		},
		{code: "cat", waits: "input", answer: []string{"keys", "x", "Enter", "C-d"}, out: "x\nx"},
		{code: "sleep 0.3 | cat", minimum: 300},
		{code: "cat | sleep 0.3", minimum: 300, waits: "input", answer: []string{"keys", "C-d"}},
		{code: "echo after", out: "after"},
	}},
	{name: "less", needs: "less", pkg: "less", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{code: "seq 1 1000 | less", waits: "input", asks: ".*", answer: []string{"keys", "q"}},
		{code: "seq 1 3 | less -FX", out: "1\n2\n3"},
		{code: "less nosuchfile", out: "nosuchfile: No such file or directory", exit: 1},
		{code: "(sleep 0.3; seq 1 1000) | less", waits: "input", asks: ".*", answer: []string{"keys", "q"}, minimum: 300},
		{code: "seq 1 1000 | less\necho behind", waits: "input", asks: ".*", answer: []string{"keys", "q"}, out: "behind"},
	}},
	{name: "fzf", needs: "fzf", pkg: "fzf", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{code: "seq 1 50 | fzf -q 42", fire: true, shows: "1/50", answer: []string{"keys", "Enter"}, out: "42"},
		{code: "seq 1 50 | fzf", fire: true, shows: "50/50", answer: []string{"keys", "Esc"}, exit: 130},
		{code: "seq 1 50 | fzf -f nothing", exit: 1},
		{code: "fzf --nosuchoption", like: "unknown option: --nosuchoption.*", exit: 2},
		{code: "seq 1 50 | fzf", busy: "50/50", exit: 130},
		{code: "echo after", out: "after"},
	}},
	{name: "vim", needs: "vim", pkg: "vim", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{code: "vim -u NONE -N -i NONE -n", waits: "input", asks: ".*", answer: []string{"type", ":q!", "--enter"}},
		{code: "vim -u NONE -N -i NONE -n", waits: "input", asks: ".*", answer: []string{"type", ":cq 3", "--enter"}, exit: 3},
		{code: "vim --nosuchoption", like: "VIM - .*Unknown option argument: .*", exit: 1},
		{code: "sleep 0.3 | vim -u NONE -N -i NONE -n -", waits: "input", asks: ".*", answer: []string{"type", ":q!", "--enter"}, like: "Vim: Reading from stdin.*", minimum: 300},
		{code: "vim -u NONE -N -i NONE -n -c 'call writefile([6*7], \"answer\")' -c 'qa!'\ncat answer", out: "42"},
		{code: "echo after", out: "after"},
	}},
	{name: "top", needs: "top", pkg: "procps", argv: []string{"bash", "--norc"}, by: cell.ByShell, inputs: []input{
		{code: "top", waits: "input", asks: ".*", answer: []string{"keys", "q"}, like: "top - .*"},
		{code: "top -b -n 1 | head -n 1", like: "top - .*"},
		{code: "top --nosuchoption; false", like: "top: .*", exit: 1}, // its own status differs
		{code: "clear"}, // so that the words below are those of the next one
		{code: "top", busy: "load average", exit: 0},
		{code: "echo after", out: "after"},
	}},
}
