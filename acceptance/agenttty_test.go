package acceptance

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tty is a world whose command is agent-tty.
type tty struct{ *world }

func newTTY(t *testing.T) tty {
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.den = filepath.Join(t.TempDir(), "agent-tty")
	if err := os.Symlink(self, w.den); err != nil {
		t.Fatal(err)
	}
	return tty{w}
}

// reply is an envelope.
type reply struct {
	OK        bool
	Command   string
	Timestamp string
	Result    map[string]any
	Error     *struct {
		Code, Message string
		Retryable     *bool
		Details       map[string]any
	}
}

// gives runs a command with --json, which must exit with a status and print one
// envelope.
func (w tty) gives(status int, args ...string) reply {
	w.t.Helper()
	flags := []string{"--json"}
	if i := slices.Index(args, "--"); i >= 0 {
		args = slices.Insert(slices.Clone(args), i, flags...)
	} else {
		args = append(slices.Clone(args), flags...)
	}
	out, stderr, code := w.try(args...)
	var r reply
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != status {
		w.t.Fatalf("agent-tty %s: exit %d, want %d, %v\n%s%s", strings.Join(args, " "), code, status, err, out, stderr)
	}
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(r.Timestamp) || !strings.HasPrefix(out, "{\n  \"ok\": ") {
		w.t.Errorf("agent-tty %s: %s", strings.Join(args, " "), out)
	}
	if r.OK == (r.Error != nil) || r.Error != nil && (r.Error.Message == "" || r.Error.Retryable == nil || r.Error.Details == nil) {
		w.t.Errorf("agent-tty %s: %s", strings.Join(args, " "), out)
	}
	return r
}

// has fails unless the result has exactly these keys.
func (w tty) has(r reply, command, keys string) {
	w.t.Helper()
	var got []string
	for key := range r.Result {
		got = append(got, key)
	}
	want := strings.Fields(keys)
	slices.Sort(got)
	slices.Sort(want)
	if !r.OK || r.Command != command || !slices.Equal(got, want) {
		w.t.Errorf("%s: %v %q %v, want %v", command, r.OK, r.Command, got, want)
	}
}

// fails runs a command that must fail with a code.
func (w tty) fails(status int, code string, args ...string) {
	w.t.Helper()
	if r := w.gives(status, args...); r.OK || r.Error.Code != code {
		w.t.Errorf("agent-tty %s: %+v, want %s", strings.Join(args, " "), r.Error, code)
	}
}

// The commands of coder's agent-tty, with its flags, envelopes and exit codes.
func TestAgentTTY(t *testing.T) {
	w := newTTY(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	made := w.gives(0, "create", "--name", "build", "--cols", "100", "--rows", "30", "--env", "FOO=bar", "--cwd", dir, "--term", "xterm", "--shell", "/bin/sh", "--", "bash", "--norc")
	w.has(made, "create", "sessionId createdAt cols rows shell env")
	id := made.Result["sessionId"].(string)
	again := w.gives(0, "create", "--name", "build", "--", "cat").Result["sessionId"].(string) // a label, not a name
	if id == again || made.Result["shell"] != "/bin/sh" || made.Result["cols"] != 100.0 {
		t.Errorf("%v, %s", made.Result, again)
	}
	bare := w.gives(0, "create")
	w.has(bare, "create", "sessionId createdAt cols rows shell")

	all := w.gives(0, "list")
	w.has(all, "list", "sessions")
	if l := all.Result["sessions"].([]any); len(l) != 3 || l[0].(map[string]any)["name"] != "build" || l[1].(map[string]any)["name"] != "build" || l[0].(map[string]any)["status"] != "running" {
		t.Errorf("%v", l)
	}
	w.has(w.gives(0, "ls", "--all"), "list", "sessions")
	w.has(w.gives(0, "inspect", id), "inspect", "session eventCount uptime lastEventSeq terminationCategory usedOfflineReplay rendererRuntime host eventLogBytes artifacts")

	// input
	w.has(w.gives(0, "run", id, "echo $FOO; (exit 3)"), "run", "accepted completed timedOut seq durationMs marker output exitCode")
	if r := w.gives(0, "run", id, "echo $FOO; pwd"); r.Result["output"] != "bar\n"+dir || r.Result["completed"] != true || r.Result["timedOut"] != false {
		t.Errorf("%v", r.Result)
	}
	if r := w.gives(0, "run", id, "--file", file("code", "echo from-file")); r.Result["output"] != "from-file" {
		t.Errorf("%v", r.Result)
	}
	w.has(w.gives(0, "run", id, "echo fired", "--no-wait"), "run", "accepted seq")
	w.gives(0, "wait", id, "--regex", "(?m)^fired$", "--timeout", "20000")
	w.has(w.gives(0, "type", again, "typed", "--append-newline"), "type", "seq")
	w.has(w.gives(0, "type", again, "--file", file("text", "from a file")), "type", "seq")
	w.has(w.gives(0, "paste", again, "pasted"), "paste", "seq")
	keys := w.gives(0, "send-keys", again, "Enter", "Ctrl+L")
	w.has(keys, "send-keys", "accepted bytesWritten seq")
	if keys.Result["bytesWritten"] != 2.0 {
		t.Errorf("%v", keys.Result)
	}
	w.has(w.gives(0, "mark", again, ""), "mark", "seq")
	w.has(w.gives(0, "resize", again, "--cols", "90", "--rows", "20"), "resize", "cols rows")
	w.has(w.gives(0, "signal", id, "SIGINT"), "signal", "signal delivered")

	// waits
	seq := w.gives(0, "run", id, "echo wai''ted").Result["seq"]
	w.has(w.gives(0, "wait", id, "--text", "waited", "--screen-stable-ms", "50", "--after-seq", "1", "--timeout", "20000"), "wait", "matched timedOut matchedText capturedAtSeq screenHash")
	w.has(w.gives(0, "wait", id, "--cursor-col", "2", "--timeout", "20000"), "wait", "matched timedOut cursorCol capturedAtSeq screenHash")
	w.has(w.gives(11, "wait", id, "--text", "never", "--timeout", "10"), "wait", "matched timedOut capturedAtSeq")
	w.has(w.gives(0, "wait", id, "--idle-ms", "10", "--timeout", "20000"), "wait", "timedOut")
	if seq == nil || seq.(float64) == 0 {
		t.Errorf("seq %v", seq)
	}
	if r := w.gives(0, "run", id, "sleep 1000", "--timeout", "50"); r.Result["timedOut"] != true || r.Result["completed"] != false {
		t.Errorf("%v", r.Result)
	}
	w.fails(9, "RPC_ERROR", "run", id, "true") // the cell goes on
	w.gives(0, "send-keys", id, "Ctrl+C")
	w.gives(0, "wait", id, "--idle-ms", "50", "--timeout", "20000")

	// pictures of the screen
	w.has(w.gives(0, "snapshot", id), "snapshot", "format sessionId capturedAtSeq cols rows cursorRow cursorCol isAltScreen visibleLines screenHash")
	rich := w.gives(0, "snapshot", id, "--include-cells", "--include-scrollback")
	w.has(rich, "snapshot", "format sessionId capturedAtSeq cols rows cursorRow cursorCol isAltScreen visibleLines scrollbackLines cells screenHash")
	w.has(w.gives(0, "snapshot", id, "--format", "text"), "snapshot", "format sessionId capturedAtSeq cols rows cursorRow cursorCol text screenHash")
	kept, err := filepath.Glob(filepath.Join(w.home.Path, "sessions", id, "artifacts", "snapshot-*-agent-tty-*.json"))
	if err != nil || len(kept) != 3 {
		t.Errorf("%v, %v", kept, err)
	}
	for _, path := range kept {
		raw, err := os.ReadFile(path)
		var result map[string]any
		if err = errors.Join(err, json.Unmarshal(raw, &result)); err != nil || result["sessionId"] != id {
			t.Errorf("%s: %v, %.80s", path, err, raw)
		}
	}
	if a := w.gives(0, "inspect", id).Result["artifacts"].(map[string]any); a["total"] != 3.0 || a["health"] != "healthy" || a["byKind"].(map[string]any)["snapshot"] != 3.0 {
		t.Errorf("%v", a)
	}
	w.has(w.gives(0, "screenshot", id, "--profile", "reference-light", "--show-cursor"), "screenshot",
		"sessionId capturedAtSeq profileName cols rows artifactPath pngSizeBytes cursorVisible rendererBackend pixelWidth pixelHeight sha256 renderProfileHash")
	cast := w.gives(0, "record", "export", id, "--format", "asciicast", "--out", filepath.Join(dir, "x.cast"))
	w.has(cast, "record export", "sessionId format artifactPath bytes sha256 capturedAtSeq durationMs metadata")
	if raw, err := os.ReadFile(filepath.Join(dir, "x.cast")); err != nil || !strings.HasPrefix(string(raw), `{"version":2,`) {
		t.Errorf("%v, %.40s", err, raw)
	}

	// a plan
	plan := w.gives(0, "batch", id, `[{"type":"echo plan''ned"},{"sendKeys":["Enter"]},{"wait":{"text":"planned","timeout":20000}},{"run":"true"},{"run":"echo x","noWait":true}]`)
	w.has(plan, "batch", "steps completedCount failedIndices")
	if plan.Result["completedCount"] != 5.0 {
		t.Errorf("%v", plan.Result)
	}
	failing := `[{"wait":{"text":"never","timeout":10}},{"paste":"x"}]`
	if r := w.gives(11, "batch", id, failing); r.Result["completedCount"] != 0.0 || !r.OK {
		t.Errorf("%v", r.Result)
	}
	if r := w.gives(1, "batch", id, "--keep-going", "--file", file("plan", failing)); r.Result["completedCount"] != 1.0 {
		t.Errorf("%v", r.Result)
	}

	// the machine
	w.has(w.gives(0, "version"), "version", "cliVersion protocolVersion rendererBackends runtime capabilities")
	w.has(w.gives(0, "doctor"), "doctor", "ok checks capabilities")
	w.has(w.gives(0, "skills", "list"), "skills list", "skills")
	for _, name := range []string{"agent-tty", "dogfood-tui"} {
		text := w.gives(0, "skills", "get", name).Result["content"].(string)
		commands := regexp.MustCompile("[`(\n]agent-tty ([a-z-]+)").FindAllStringSubmatch(text, -1)
		if len(commands) < 5 {
			t.Errorf("%s: %v", name, commands)
		}
		for _, m := range commands {
			w.gives(0, "help", m[1])
		}
	}
	w.has(w.gives(0, "skills", "get", "den"), "skills get", "name source path content")
	path := w.gives(0, "skills", "path", "den")
	w.has(path, "skills path", "name source path")
	if _, err := os.Stat(filepath.Join(path.Result["path"].(string), "SKILL.md")); err != nil {
		t.Error(err)
	}
	homes := w.gives(0, "home", "list", "--all")
	w.has(homes, "home list", "homes")
	if h := homes.Result["homes"].([]any); len(h) != 1 || h[0].(map[string]any)["activeSessions"] != 3.0 {
		t.Errorf("%v", h)
	}
	w.has(w.gives(0, "home", "forget", "/nowhere"), "home forget", "path forgotten")

	// the end
	w.has(w.gives(0, "destroy", again, "--force"), "destroy", "sessionId destroyed")
	w.fails(4, "SESSION_ALREADY_DESTROYED", "destroy", again)
	w.gives(0, "run", id, "exit 5")
	ended := w.gives(0, "wait", id, "--exit", "--timeout", "20000")
	if ended.Result["exitCode"] != 5.0 {
		t.Errorf("%v", ended.Result)
	}
	over := w.gives(0, "inspect", id)
	if over.Result["terminationCategory"] != "nonzero-exit" || over.Result["usedOfflineReplay"] != true {
		t.Errorf("%v", over.Result)
	}
	w.fails(4, "SESSION_NOT_RUNNING", "type", id, "x")
	w.fails(10, "REPLAY_ERROR", "wait", id, "--text", "never", "--timeout", "10")
	w.has(w.gives(0, "gc", "--dry-run", "--older-than", "1m"), "gc", "dryRun homes removedSessionCount totalBytesFreed deregisteredHomes")
	w.gives(0, "gc", "--stale-only")
	if r := w.gives(0, "gc"); r.Result["removedSessionCount"] != 2.0 {
		t.Errorf("%v", r.Result)
	}
	w.fails(3, "SESSION_NOT_FOUND", "inspect", id)
}

// Each error has the code and the status of the original.
func TestAgentTTYErrors(t *testing.T) {
	w := newTTY(t)
	id := w.gives(0, "create", "--", "cat").Result["sessionId"].(string)
	for _, c := range []struct {
		status int
		code   string
		line   string
	}{
		{3, "SESSION_NOT_FOUND", "inspect nosuch"}, {2, "INVALID_SESSION_ID", "inspect ../x"}, {2, "INVALID_SESSION_ID", "destroy .."},
		{2, "INVALID_DIMENSIONS", "create --cols 0"}, {2, "INVALID_DIMENSIONS", "resize ID --cols 0 --rows 5"}, {2, "INVALID_DIMENSIONS", "resize ID --cols 5"},
		{2, "INVALID_INPUT", "create --env =x"}, {2, "INVALID_INPUT", "create --shell /nosuch"}, {8, "STORAGE_READ_ERROR", "create --cwd /nosuch"},
		{2, "INVALID_INPUT", "create --idle-timeout-ms 5"}, {2, "INVALID_INPUT", "--home relative list"}, {2, "INVALID_INPUT", "list --renderer nosuch"},
		{2, "INVALID_SIGNAL", "signal ID TERM"}, {2, "INVALID_KEYS", "send-keys ID NoSuchKey"}, {2, "INVALID_DURATION", "gc --older-than 5s"},
		{2, "INVALID_INPUT", "type ID"}, {2, "INVALID_INPUT", "type ID x --file /etc/passwd"}, {2, "INVALID_INPUT", "paste ID --file /nosuch"},
		{2, "INVALID_INPUT", "wait ID --exit --text x"}, {2, "INVALID_DURATION", "wait ID"}, {2, "INVALID_DURATION", "wait ID --exit --idle-ms 5"},
		{2, "INVALID_INPUT", "wait ID --text x --regex y"}, {2, "INVALID_INPUT", "snapshot ID --format nosuch"},
		{2, "INVALID_INPUT", "screenshot ID --profile nosuch"}, {2, "INVALID_INPUT", "screenshot ID --show-cursor --hide-cursor"},
		{2, "INVALID_INPUT", "record export ID"}, {2, "INVALID_INPUT", "record export ID --format webm --out x.mp4"},
		{2, "INVALID_INPUT", "record export ID --format asciicast --timing recorded"}, {2, "INVALID_INPUT", "batch ID [{\"nosuch\":1}]"},
		{1, "SKILL_NOT_FOUND", "skills get nosuch"}, {2, "INVALID_INPUT", "inspect"}, {2, "INVALID_INPUT", "list extra"}, {2, "INVALID_INPUT", "list --nosuch"},
	} {
		w.fails(c.status, c.code, strings.Fields(strings.ReplaceAll(c.line, "ID", id))...)
	}
	// For people: the code and the message on stderr, usage with the help.
	if out, stderr, code := w.try("inspect", "nosuch"); code != 3 || out != "" || !strings.HasPrefix(stderr, "SESSION_NOT_FOUND: ") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	if out, stderr, code := w.try("snapshot", "--nosuch"); code != 2 || out != "" || !strings.Contains(stderr, "Usage: agent-tty snapshot") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	if out, _, code := w.try("record", "export", "--help"); code != 0 || !strings.Contains(out, "--timing") {
		t.Errorf("exit %d, %q", code, out)
	}
	// A Home of one's own, by flag or by variable.
	other := filepath.Join(t.TempDir(), "h")
	if r := w.gives(0, "--home", other, "list", "--all"); len(r.Result["sessions"].([]any)) != 0 {
		t.Errorf("%v", r.Result)
	}
	if r := (tty{w.with("AGENT_TTY_HOME=" + other)}).gives(0, "list", "--all"); len(r.Result["sessions"].([]any)) != 0 {
		t.Errorf("%v", r.Result)
	}
}
