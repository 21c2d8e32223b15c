package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"den/internal/testkit/modelstub"
	"den/internal/testkit/modelstub/realcli"
	"den/internal/testkit/need"
)

// recorded is a session that a test uses as a person does, to make a script of it.
type recorded struct {
	*world
	name  string
	input string // the seq of the last input, or "0"
}

// recordProgram starts a program in a terminal of 80 by 24.
func recordProgram(w *world, name string, argv ...string) *recorded {
	w.t.Helper()
	w.do(append([]string{"new", name, "--record-input", "all", "--cols", "80", "--rows", "24", "--"}, argv...)...)
	return &recorded{w, name, "0"}
}

// sees waits until the program has answered the last input, shows a text since, and
// has been at rest for as long as makes its screen one that is expected. However
// busy the machine is, nothing is typed ahead.
func (r *recorded) sees(text string) {
	r.t.Helper()
	args := []string{"wait", r.name, "--after", r.input, "--idle", "400ms", "-t", "2m"}
	if text != "" {
		args = append(args, "--text", text)
	}
	if _, errOut, code := r.try(args...); code != 0 {
		r.t.Fatalf("%s: exit %d: %s", text, code, errOut)
	}
}

func (r *recorded) keys(names ...string) { r.send(append([]string{"keys", r.name}, names...)...) }

func (r *recorded) types(text string) { r.send("type", r.name, text) }

func (r *recorded) send(args ...string) {
	r.t.Helper()
	var sent struct{ Seq uint64 }
	if err := json.Unmarshal([]byte(r.do(append(args, "-j")...)), &sent); err != nil || sent.Seq == 0 {
		r.t.Fatalf("%v: %+v %v", args, sent, err)
	}
	r.input = strconv.FormatUint(sent.Seq, 10)
}

// plays makes a script of the texts of the recording and plays it so often as the
// target says, two at a time. Each has to pass.
func (r *recorded) plays(masks ...string) {
	r.t.Helper()
	r.playsWith("text", masks)
}

// looks is plays with styles and pictures.
func (r *recorded) looks(masks ...string) {
	r.t.Helper()
	r.playsWith("looks", masks, "--styles", "--pictures")
}

func (r *recorded) playsWith(what string, masks []string, flags ...string) {
	r.t.Helper()
	for _, m := range masks {
		flags = append(flags, "--mask", m)
	}
	n, err := strconv.Atoi(os.Getenv("DEN_SCRIPT_PLAYS"))
	if err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.t.TempDir(), r.name+".steps")
	r.do(append([]string{"export", r.name, "--format", "test", "-o", file}, flags...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	if strings.Count(string(text), `{"screen":`) < 3 {
		r.t.Errorf("the script expects too little:\n%s", text)
	}
	out, errOut, code := r.try("test", file, "--repeat", strconv.Itoa(n), "--parallel", "2", "--timeout", "2m", "-o", filepath.Join(r.t.TempDir(), "failures"), "-j")
	var answer struct {
		Passed, Failed int
		Scripts        []struct {
			Status     string
			DurationMS int `json:"duration_ms"`
			Line       int
			Error      any
			Diff       []struct{ Want, Got string }
		}
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		r.t.Fatalf("exit %d: %v\n%s%s", code, err, out, errOut)
	}
	longest, sum := 0, 0
	for _, s := range answer.Scripts {
		longest, sum = max(longest, s.DurationMS), sum+s.DurationMS
		if s.Status == "passed" {
			continue
		}
		r.t.Logf("line %d: %s %v", s.Line, s.Status, s.Error)
		for _, d := range s.Diff {
			r.t.Logf("  %-80s | %s", d.Want, d.Got)
		}
	}
	load, _ := os.ReadFile("/proc/loadavg") // Best effort: not every system has one.
	r.t.Logf("%s, %s: %d of %d plays passed, %d screens each, %d ms a play, the longest %d ms; load %s",
		r.name, what, answer.Passed, n, strings.Count(string(text), `{"screen":`), sum/max(1, len(answer.Scripts)), longest, strings.TrimSpace(string(load)))
	if answer.Passed != n || code != 0 {
		r.t.Errorf("exit %d\n%s", code, text)
	}
}

// Recordings of real programs are scripts that pass, each time.
func TestScriptsOfPrograms(t *testing.T) {
	need.Target(t, "DEN_SCRIPT_PLAYS", "make test-scripts")
	t.Run("vim", func(t *testing.T) {
		vim := need.Program(t, "vim")
		w := newWorld(t)
		file := filepath.Join(t.TempDir(), "poem")
		if err := os.WriteFile(file, []byte("roses are red\nviolets are blue\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := recordProgram(w, "vim", vim, "-u", "NONE", "-i", "NONE", "-n", "-N", file)
		r.sees("violets")
		r.keys("o")
		r.types("sugar is sweet")
		r.sees("")
		r.keys("Escape")
		r.sees("")
		r.keys("g", "g", "d", "d")
		r.sees("")
		r.types(":%s/blue/green/")
		r.keys("Enter")
		r.sees("violets are green")
		r.types(":q!")
		r.keys("Enter")
		w.do("wait", "vim", "--exit")
		r.plays()
		r.looks()
	})
	t.Run("mc", func(t *testing.T) {
		mc := need.Program(t, "mc")
		w := newWorld(t)
		dir := t.TempDir()
		for _, name := range []string{"alpha", "beta", "gamma"} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(name+" is a file\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			then := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
		w.env = append(w.env, "TZ=UTC", "LC_ALL=C.UTF-8")
		// Each mc empties and rewrites its settings and its history, which the one that
		// plays beside it reads: each has a home of its own.
		homes := t.TempDir()
		r := recordProgram(w, "mc", "sh", "-c", `HOME=$(mktemp -d "$1/XXXXXX") exec "$2" --nosubshell --nocolor "$3" "$3"`, "sh", homes, mc, dir)
		r.sees("gamma")
		r.keys("Down", "Down")
		r.sees("beta")
		r.keys("F3")
		r.sees("beta is a file")
		r.keys("F10")
		r.sees("gamma")
		r.keys("F9") // the menu's letters change their colour
		r.sees("")
		r.keys("Escape", "Escape")
		r.sees("")
		r.keys("F10")
		w.do("wait", "mc", "--exit")
		// What is free on the disk, and the hint of the day.
		masks := []string{`[-─]* *[0-9.]+[kKMGT]? ?/ ?[0-9.]+[kKMGT]? \([0-9]+%\)[-─]*`, `^Hint: .*`, `[A-Z][a-z]{2} +[0-9]+ +[0-9:]+`}
		r.plays(masks...)
		r.looks(masks...)
	})
	t.Run("dashboard", func(t *testing.T) {
		w := newWorld(t)
		for _, s := range []string{"first", "second"} {
			w.do("new", s, "--cols", "40", "--rows", "10", "sh", "-c", "echo this is "+s+"; exit 3")
			w.do("wait", s, "--exit")
		}
		other := newWorld(t)
		// No Home but this one: the other has the session of the recording itself.
		r := recordProgram(other, "dashboard", "env", "XDG_STATE_HOME="+t.TempDir(), w.den, "--home", w.home.Path, "dashboard")
		r.sees("den dashboard")
		r.types("a") // also those that are over
		r.sees("this is")
		r.keys("Down")
		r.sees("this is")
		r.types("?")
		r.sees("filter")
		r.types("x")
		r.sees("this is")
		r.types("/second")
		r.sees("filter: second")
		r.keys("Escape")
		r.sees("first")
		r.types("q")
		other.do("wait", "dashboard", "--exit")
		// Ages.
		r.plays(` *[0-9]+[smhd] *│`)
	})
	t.Run("codex", func(t *testing.T) {
		stub := modelstub.Start(t)
		stub.Always(modelstub.Contains("ping"), modelstub.Say("pong ", "from the stub"))
		h := realcli.Codex(t, stub, "")
		initRepository(t, h.Work)
		config, err := os.ReadFile(filepath.Join(h.Dir, ".codex", "config.toml"))
		if err != nil {
			t.Fatal(err)
		}
		h.Write(t, ".codex/config.toml", append(config, "\n[projects."+strconv.Quote(h.Work)+"]\ntrust_level = \"trusted\"\n"...))
		w := newWorld(t)
		w.env = append(w.env, h.Env...)
		// Each in a copy of the home, without the server that all would share.
		r := recordProgram(w, "codex", "sh", "-c", `home=$(mktemp -d "$1/XXXXXX") && cp -R "$CODEX_HOME/." "$home" && CODEX_HOME=$home exec "$2" --disable daemon_auto_start --cd "$3"`,
			"sh", t.TempDir(), h.Program, h.Work)
		r.sees("? for shortcuts")
		r.types("ping please")
		r.sees("")
		r.keys("Enter")
		r.sees("pong from the stub")
		r.keys("C-c", "C-c")
		if out, _, _ := w.try("wait", "codex", "--exit", "-t", "5s"); out == "" {
			r.keys("C-c")
			w.do("wait", "codex", "--exit")
		}
		// Tips, what to ask for, how long it took, numbers of sessions and tokens.
		r.plays(`› [A-Z].*`, `.*[Tt]ip:.*`, `.*[0-9]+%.*`, `Worked for .*`, `[0-9a-f]{8}-[0-9a-f-]+`, `.*[Tt]oken.*`)
	})
}
