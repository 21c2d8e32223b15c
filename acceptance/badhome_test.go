package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withHome lists the verbs that use a Home, each with words that make it look.
var withHome = []string{
	"answer x yes", "attach x", "batch x [{\"type\":\"x\"}]", "dashboard", "dashboard x", "dashboard --web", "events x", "export x", "fire x true",
	"gc", "history x", "host upgrade x", "host upgrade --all", "int x", "keys x Enter", "kill x", "ls", "ls --all", "mark x here", "marks x", "mcp",
	"new x", "next", "next x", "notify x hello", "paste x hi", "poll x", "release x", "resize x 80 24", "run x true", "screenshot x", "seen x", "signal x INT", "snapshot x",
	"status x", "type x hi", "wait x --text hi", "watch x", "up -f WORKSPACE", "up --foreground -f WORKSPACE", "down -f WORKSPACE", "agent attach a --file WORKSPACE", "worktree list -f WORKSPACE", "worktree prune -f WORKSPACE",
}

// withoutHome lists the verbs that use none: those of a keeper ask the keeper.
var withoutHome = []string{
	"agent answer", "agent ask", "agent drained", "agent draining", "agent explain", "agent logs", "agent nudge", "agent nudges", "agent peek", "agent reset", "agent restart",
	"accounts", "agent resume", "agent start", "agent stop", "agent suspend", "agent sandbox", "agent turns", "approvals", "attention", "channel", "completion", "doctor", "harness", "help", "homes", "init", "kernel", "man", "permissions", "ps", "reload", "skills", "test", "version",
}

// A Home that is a file, and one of another user, are one kind of error each,
// as JSON, whatever the verb.
func TestHomesThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.listsAllVerbs(append(slices.Clone(withHome), withoutHome...))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "DEN_DEND="+filepath.Join(filepath.Dir(w.den), "dend"))
	if err := os.Symlink(self, filepath.Join(filepath.Dir(w.den), "dend")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, closed, workspace := filepath.Join(dir, "file"), filepath.Join(dir, "closed"), filepath.Join(dir, "den.toml")
	for path, text := range map[string]string{file: "no directory", workspace: "[[agents]]\nname = \"a\"\nstart_command = [\"cat\"]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(closed, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := w
	if os.Getuid() == 0 {
		other = w.as(65534)
	} else if err := os.Chmod(closed, 0); err != nil { // as good as another user's
		t.Fatal(err)
	}
	for _, line := range withHome {
		args := strings.Fields(strings.ReplaceAll(line, "WORKSPACE", workspace))
		w.with("DEN_HOME="+file).mustFail(args, "storage", 8)
		w.with("DEN_HOME="+filepath.Join(file, "below")).mustFail(args, "storage", 8)
		other.with("DEN_HOME="+closed).mustFail(args, "denied", 12)
	}
	for _, bad := range []string{file, closed} {
		seen := w
		if bad == closed {
			seen = other
		}
		if out, _, code := seen.with("DEN_HOME="+bad).try("doctor", "-j"); code != 1 || !strings.Contains(out, `{"name":"home","status":"fail","message":"Home `) {
			t.Errorf("doctor: exit %d, %s", code, out)
		}
	}
}

// mustFail runs a verb with -j, which must print one error of that kind.
func (w *world) mustFail(args []string, kind string, status int) {
	w.t.Helper()
	if args[0] == "new" {
		args = slices.Insert(slices.Clone(args), 1, "-j") // behind the name it is the program's
	} else {
		args = append(slices.Clone(args), "-j")
	}
	out, stderr, code := w.try(args...)
	var object struct{ Status, Kind, Output string }
	if err := json.Unmarshal([]byte(out), &object); err != nil || code != status || object.Status != "error" || object.Kind != kind || object.Output == "" {
		w.t.Errorf("den %s: exit %d, want %d and one %s error\n%s%s", strings.Join(args, " "), code, status, kind, out, stderr)
	}
}

// listsAllVerbs fails if den has a verb that no line begins with.
func (w *world) listsAllVerbs(lines []string) {
	w.t.Helper()
	var walk func(path ...string)
	walk = func(path ...string) {
		out, _, _ := w.try(append(append([]string{"__complete"}, path...), "")...)
		for line := range strings.Lines(out) {
			name, _, isVerb := strings.Cut(line, "\t")
			if !isVerb {
				continue // no command: a directive, or a session
			}
			verb := strings.Join(append(path, name), " ")
			switch {
			case verb == "agent" || verb == "host":
				walk(verb)
			case !slices.ContainsFunc(lines, func(l string) bool { return l == verb || strings.HasPrefix(l, verb+" ") }):
				w.t.Errorf("verb %q is not in the table", verb)
			}
		}
	}
	walk()
}

// Errors of what den does not do itself are objects too.
func TestErrorsAreObjects(t *testing.T) {
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(filepath.Dir(w.den), "dend")); err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(t.TempDir(), "den.toml")
	if err := os.WriteFile(workspace, []byte("[[agents]]\nname = \"a\"\nstart_command = [\"cat\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		kind   string
		status int
	}{
		"help nosuch":                        {"usage", 2},
		"help agent nosuch":                  {"usage", 2},
		"completion nosuch":                  {"usage", 2},
		"nosuch":                             {"usage", 2},
		"agent nosuch":                       {"usage", 2},
		"skills nosuch":                      {"usage", 2},
		"homes nosuch":                       {"usage", 2},
		"host nosuch":                        {"usage", 2},
		"run --nosuch":                       {"usage", 2},
		"dashboard --web not:an:address":     {"usage", 2},
		"dashboard nosuch":                   {"not_found", 3},
		"attach nosuch":                      {"not_found", 3},
		"agent attach a --file " + workspace: {"not_found", 3},
		"up -f /nosuch/den.toml":             {"not_found", 3},
	} {
		w.mustFail(strings.Fields(line), want.kind, want.status)
	}
}
