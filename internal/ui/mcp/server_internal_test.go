package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/process/pty"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/session/terminals"
	"den/internal/testkit/dentest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// den is the binary whose hosts the tests run.
var den string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "den-tm-") // short: sockets go here
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) // Best effort: a temporary directory.
	den = filepath.Join(dir, "den")
	if err := dentest.Build(dir, "den"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Only now: the build's cache is below HOME.
	for name, value := range map[string]string{
		"DEN_RUN_DIR": filepath.Join(dir, "run"), "HOME": dir, "XDG_STATE_HOME": filepath.Join(dir, "state"), "PS1": "$ ", "LC_ALL": "C.UTF-8",
	} {
		os.Setenv(name, value)
	}
	return m.Run()
}

// world is a server on pipes and a client of it.
type world struct {
	t      *testing.T
	output map[string]map[string]any // the output schemas of tools that have one
	home   home.Home
	client *sdk.ClientSession
	heard  chan string   // progress
	served func() error  // waits for the server's end
	words  *bytes.Buffer // what the server logged; read it when it has ended
}

func newWorld(t *testing.T, change ...func(*options)) *world {
	t.Helper()
	return newWorldIn(t, nil, change...)
}

// newWorldIn is newWorld with more variables in the server's environment.
func newWorldIn(t *testing.T, env []string, change ...func(*options)) *world {
	t.Helper()
	w := &world{t: t, home: home.Home{Path: filepath.Join(t.TempDir(), "home"), Explicit: true}, heard: make(chan string, 1000), words: &bytes.Buffer{}}
	o := options{home: w.home.Path, den: den, dir: t.TempDir(), shell: "bash", limits: terminals.DefaultLimits()}
	for _, c := range change {
		c(&o)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := serve(context.Background(), o, append(slices.Concat(os.Environ(), env), TokenVariable+"=must-not-reach-programs"), fromClient, toClient, w.words)
		toClient.Close()
		served <- err
	}()
	w.served = sync.OnceValue(func() error { return <-served })
	var err error
	w.client, err = sdk.NewClient(&sdk.Implementation{Name: "test client", Version: "9"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { w.heard <- r.Params.Message },
	}).Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	list, err := w.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.output = map[string]map[string]any{}
	for _, tool := range list.Tools {
		if schema, has := tool.OutputSchema.(map[string]any); has {
			w.output[tool.Name] = schema
		}
	}
	return w
}

// end closes the connection: nothing of the client may be left.
func (w *world) end() {
	w.t.Helper()
	if err := w.client.Close(); err != nil {
		w.t.Log(err)
	}
	if err := w.served(); err != nil {
		w.t.Error(err)
	}
	if w.words.Len() > 0 {
		w.t.Errorf("the server said:\n%s", w.words)
	}
	dirs, err := w.home.All()
	if err != nil {
		w.t.Error(err)
	}
	for _, d := range dirs {
		if m, err := d.Inspect(); err == nil && m.Status.Active() && m.Labels[terminals.ClientLabel] != "" && m.Labels[terminals.KeptLabel] == "" {
			w.t.Errorf("session %s is left", m.Name)
		}
		if _, err := session.In(d, session.Options{}).Kill(context.Background(), time.Second); err != nil {
			w.t.Error(err)
		}
		if left := pty.Marked(home.ProgramMark + "=" + d.ID); len(left) > 0 {
			w.t.Errorf("session %s left processes %v", d.ID, left)
		}
	}
}

// values is the arguments of a tool, or its structured answer.
type values = map[string]any

// try calls a tool and returns its text and its structured answer.
func (w *world) try(name string, arguments values) (text string, value values, isError bool) {
	w.t.Helper()
	r, err := w.client.CallTool(w.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		w.t.Fatalf("%s %v: %v", name, arguments, err)
	}
	value = valueOf(w.t, r)
	w.expectMeets(name, value)
	return textOf(r), value, r.IsError
}

// expectMeets holds a structured answer against the tool's output schema, as some
// clients do, also with errors.
func (w *world) expectMeets(tool string, value values) {
	w.t.Helper()
	schema, has := w.output[tool]
	if !has {
		return
	}
	if schema["type"] != "object" || schema["required"] != nil {
		w.t.Errorf("the output schema of %s is no object, or requires what an error lacks: %v", tool, schema)
	}
	for name, property := range schema["properties"].(values) {
		v, has := value[name]
		if !has {
			continue
		}
		is := fmt.Sprintf("%T", v)
		if want := (map[string]string{"string": "string", "integer": "float64"})[property.(values)["type"].(string)]; is != want {
			w.t.Errorf("%s of %s is %v, a %s; its schema says %v", name, tool, v, is, property)
		}
	}
}

// call is try that must succeed.
func (w *world) call(name string, arguments values) (string, values) {
	w.t.Helper()
	text, value, isError := w.try(name, arguments)
	if isError {
		w.t.Fatalf("%s %v: %s", name, arguments, text)
	}
	return text, value
}

// refuse is try that must fail with these words.
func (w *world) refuse(name string, arguments values, words ...string) {
	w.t.Helper()
	text, value, isError := w.try(name, arguments)
	if !isError || value["status"] != "error" {
		w.t.Errorf("%s %v: %s, %v", name, arguments, text, value)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("%s %v: %q has no %q", name, arguments, text, word)
		}
	}
}

func textOf(r *sdk.CallToolResult) string {
	var texts []string
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func valueOf(t *testing.T, r *sdk.CallToolResult) values {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	v := values{}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Every tool, as a model uses it.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text, v := w.call("run", values{"code": "echo hi; env | grep -c DEN_MCP_TOKEN"})
	if text != "hi\n0\n[exit code 1]" || v["output"] != "hi\n0" || v["exit_code"] != 1.0 || v["status"] != "done" {
		t.Errorf("run: %q, %v", text, v)
	}
	shell := v["session"].(string)

	text, v = w.call("run", values{"code": `read -sp "password? " p; echo; echo ${#p}`})
	if v["status"] != "asking" || v["question"] != "password?" || text != "password? \n[asking; answer it with the tool answer]" {
		t.Errorf("a question: %q, %v", text, v)
	}
	w.refuse("run", values{"code": "true"}, `asks "password?"`, "answer")
	if text, v = w.call("answer", values{"text": "geheim"}); v["status"] != "done" || !strings.HasSuffix(text, "6\n[exit code 0]") {
		t.Errorf("answer: %q, %v", text, v)
	}
	w.refuse("answer", values{"text": "x"}, "no active cell", "run")

	if text, v = w.call("open", values{"name": "ed", "command": []string{"sh", "-c", "printf 'ready> '; read a; echo got $a; read b"}, "cols": 60, "rows": 10}); v["session"] != "ed" || v["cols"] != 60.0 {
		t.Errorf("open: %q, %v", text, v)
	}
	w.call("wait", values{"session": "ed", "text": "ready>"})
	_, v = w.call("type", values{"session": "ed", "text": "this", "enter": true})
	if text, v = w.call("wait", values{"session": "ed", "regex": "got t...", "after": v["seq"]}); v["matched"] != true || v["text"] != "got this" {
		t.Errorf("wait: %q, %v", text, v)
	}
	if text, v = w.call("wait", values{"session": "ed", "text": "never", "timeout": 0.05}); v["status"] != "timeout" || !strings.Contains(text, "not met: text") || !strings.Contains(text, "got this") {
		t.Errorf("an unmet wait: %q, %v", text, v)
	}
	if text, v = w.call("snapshot", values{"session": "ed"}); !strings.Contains(text, "got this") || !strings.Contains(text, "60x10") || v["cursor"].(values)["row"] != 2.0 {
		t.Errorf("snapshot: %q, %v", text, v)
	}
	w.expectPicture("ed")
	w.call("keys", values{"session": "ed", "keys": []string{"C-c"}})
	if _, v = w.call("wait", values{"session": "ed", "exit": true}); v["matched"] != true {
		t.Errorf("wait for the end: %v", v)
	}

	w.call("run", values{"code": "seq 200"})
	if text, v = w.call("history", values{"lines": 5}); !strings.Contains(text, "199\n200\n") || len(v["lines"].([]any)) != 5 {
		t.Errorf("history: %q, %v", text, v)
	}
	text, v = w.call("list", nil)
	if all := v["terminals"].([]any); len(all) != 2 || !strings.Contains(text, shell+": your shell") || !strings.Contains(text, "ed: yours, exited") {
		t.Errorf("list: %q, %v", text, v)
	}
	w.expectResources(shell)
	w.call("close", values{"session": shell})
	w.call("close", values{"session": "ed"})
	if text, _ = w.call("list", nil); !strings.Contains(text, "no terminals") {
		t.Errorf("list: %q", text)
	}
}

func (w *world) expectPicture(session string) {
	w.t.Helper()
	r, err := w.client.CallTool(w.t.Context(), &sdk.CallToolParams{Name: "screenshot", Arguments: values{"session": session}})
	if err != nil || len(r.Content) != 2 || !strings.Contains(textOf(r), "60x10") || r.StructuredContent != nil {
		w.t.Fatalf("%+v, %v", r, err)
	}
	picture, ok := r.Content[1].(*sdk.ImageContent)
	if !ok || picture.MIMEType != "image/png" {
		w.t.Fatalf("%+v", r.Content[1])
	}
	if _, err := png.Decode(bytes.NewReader(picture.Data)); err != nil {
		w.t.Error(err)
	}
}

func (w *world) expectResources(shell string) {
	w.t.Helper()
	templates, err := w.client.ListResourceTemplates(w.t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		w.t.Errorf("%+v, %v", templates, err)
	}
	list, err := w.client.ListResources(w.t.Context(), nil)
	if err != nil || len(list.Resources) != 4 {
		w.t.Errorf("%+v, %v", list, err)
	}
	for part, want := range map[string]string{partScreen: "200", partRecording: `{"version":2`} {
		r, err := w.client.ReadResource(w.t.Context(), &sdk.ReadResourceParams{URI: uriPrefix + shell + "/" + part})
		if err != nil || len(r.Contents) != 1 || !strings.Contains(strings.ReplaceAll(r.Contents[0].Text, `": `, `":`), want) {
			w.t.Errorf("%s: %+v, %v", part, r, err)
		}
	}
	for _, uri := range []string{uriPrefix + "nobody/screen", uriPrefix + shell + "/secrets", "file:///etc/passwd"} {
		if _, err := w.client.ReadResource(w.t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			w.t.Errorf("%s was read", uri)
		}
	}
}

// What is wrong is an answer of the tool, in words for a model.
func TestMistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuse("snapshot", nil, "no terminal yet", "run")
	w.refuse("wait", nil, "no terminal yet")
	w.refuse("run", nil, "code is missing")
	w.refuse("run", values{"code": "true", "session": "nobody"}, "nobody", "list")
	w.refuse("run", values{"code": "true", "timeout": "1m"}, "argument 'timeout' is a string; want a number")
	w.refuse("wait", values{"timeout": 0}, "more than 0")
	w.refuse("next", nil, "no terminals yet")
	w.refuse("next", values{"timeout": 0}, "more than 0")
	w.refuse("run", values{"code": "true", "timeout": 1e9}, "timeout")
	w.refuse("run", values{"command": "true"}, `unknown field "command"`)
	w.refuse("run", values{"code": "echo \x1b[A"}, "control character")
	w.refuse("keys", values{"keys": []string{"NoSuchKey"}}, "NoSuchKey")
	w.refuse("keys", nil, "keys are missing")
	w.refuse("type", nil, "text is missing")
	w.refuse("answer", nil, "keys are missing")
	w.refuse("answer", values{"text": "a", "keys": []string{"b"}}, "not both")
	w.refuse("wait", values{"regex": "("}, "regex")
	w.refuse("wait", nil, "no code was run", "condition")
	w.refuse("open", values{"command": "python3"}, "want a list of strings")
	w.refuse("open", values{"command": []string{"/nonexistent"}}, "/nonexistent")
	w.refuse("open", values{"dir": "/nonexistent"}, "not a directory")
	w.refuse("history", values{"lines": 0}, "from 1 to")
	w.refuse("close", nil, "session is missing")
	w.call("keys", values{"keys": "a b Enter"}) // a model's way to say it
}

// Several terminals are used at once: code is started in each, and next tells what
// comes of it, once.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("open", values{"name": "one", "command": []string{"bash", "--norc"}})
	w.call("open", values{"name": "two", "command": []string{"bash", "--norc"}})
	w.call("run", values{"session": "one", "code": "echo begun; (exit 3)", "timeout": 0})
	if text, v := w.call("run", values{"session": "two", "code": "read -p 'name? ' x; echo hello $x", "timeout": 0}); v["status"] != "fired" || !strings.Contains(text, "next tells") {
		t.Errorf("run: %q, %v", text, v)
	}
	text, v := w.call("next", values{"all": true})
	if len(v["events"].([]any)) != 2 || !strings.Contains(text, "one: done, exit code 3\nbegun\n") || !strings.Contains(text, "two: asks\nname?") {
		t.Errorf("next: %q, %v", text, v)
	}
	w.call("answer", values{"session": "two", "text": "Ann", "timeout": 0})
	if text, _ = w.call("next", nil); !strings.HasPrefix(text, "two: done, exit code 0\nAnn\nhello Ann") {
		t.Errorf("next: %q", text)
	}
	w.call("run", values{"session": "one", "code": "echo told"})
	if text, v = w.call("next", nil); v["status"] != "nothing" || !strings.Contains(text, "no code runs") {
		t.Errorf("next: %q, %v", text, v)
	}
}

// A terminal of somebody else can be seen, and used only where that is allowed.
func TestTerminalsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.den("new", "people", "bash", "--norc")
	w.den("run", "people", "echo theirs")
	if text, _ := w.call("snapshot", values{"session": "people"}); !strings.Contains(text, "theirs") {
		t.Errorf("snapshot: %q", text)
	}
	if text, _ := w.call("list", nil); !strings.Contains(text, "people: another's, running") {
		t.Errorf("list: %q", text)
	}
	for name, arguments := range map[string]values{
		"run": {"code": "true"}, "answer": {"text": "x"}, "type": {"text": "x"}, "keys": {"keys": []string{"x"}}, "close": {},
	} {
		arguments["session"] = "people"
		w.refuse(name, arguments, "not yours", "--use-others")
	}
	second := newWorld(t, func(o *options) { o.home, o.useOthers = w.home.Path, true })
	second.home = w.home
	if text, _ := second.call("run", values{"session": "people", "code": "echo used"}); text != "used\n[exit code 0]" {
		t.Errorf("run: %q", text)
	}
}

// den runs a command line in the world's Home, and returns what it printed
// whatever its exit code.
func (w *world) den(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), den, append([]string{"--home", w.home.Path}, args...)...)
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		w.t.Fatal(err)
	}
	return string(out)
}

// What run and answer return is what 'den run -j' and 'den answer -j' print for
// the same code, without the output that was returned before.
func TestRunEqualsDenRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.den("new", "there", "bash", "--norc")
	w.call("open", values{"name": "here", "command": []string{"bash", "--norc"}})
	w.den("new", "there-py", "python3", "-q")
	w.call("open", values{"name": "here-py", "command": []string{"python3", "-q"}})
	for _, c := range []struct {
		in, code string
		answers  []string
	}{
		{"", "true", nil},
		{"", "false", nil},
		{"", "(exit 3)", nil},
		{"", "echo hello; echo there", nil},
		{"", "printf 'no newline'", nil},
		{"", "printf '\\033[31mred\\033[0m é 漢字\\n'", nil},
		{"", "for i in 1 2 3; do\n  echo $i\ndone", nil},
		{"", "echo 'a  b'   'c '; echo; echo d", nil},
		{"", "printf 'x%.0s' {1..500}; echo", nil},
		{"", "nosuchcommand-den", nil},
		{"", "cd /tmp && pwd", nil},
		{"", `read -p "one? " a; read -p "two? " b; echo "$a-$b"`, []string{"1", "2"}},
		{"", "echo 'open", []string{"end'"}},
		{"-py", "print(6*7)", nil},
		{"-py", "1/0", nil},
		{"-py", "for i in range(3):\n    print(i)\n", nil},
		{"-py", "x = input('name? '); print(x)", []string{"bob"}},
		{"", "exit 5", nil},
	} {
		_, here := w.call("run", values{"session": "here" + c.in, "code": c.code})
		expectEqual(t, c.code, here, w.den("run", "there"+c.in, c.code, "-j"))
		for _, answer := range c.answers {
			read := here["output"].(string)
			_, here = w.call("answer", values{"session": "here" + c.in, "text": answer})
			if here["continued"] == true {
				here["output"] = read + here["output"].(string)
				delete(here, "continued")
			}
			expectEqual(t, c.code+", answered "+answer, here, w.den("answer", "there"+c.in, answer, "-j"))
		}
	}
}

func expectEqual(t *testing.T, what string, here values, printed string) {
	t.Helper()
	there := values{}
	if err := json.Unmarshal([]byte(printed), &there); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, printed)
	}
	if there["waiting_for"] == "input" || there["waiting_for"] == "continuation" {
		there["status"] = terminals.Asking // what den's events call it
	}
	for _, own := range []string{"session", "note", "cell_id", "duration_ms"} { // no two calls have the same
		delete(here, own)
		delete(there, own)
	}
	a, _ := json.Marshal(here) // of what was decoded: it cannot fail
	b, _ := json.Marshal(there)
	if string(a) != string(b) {
		t.Errorf("%s:\nhere  %s\nthere %s", what, a, b)
	}
}

// A cancelled call leaves its code running, and the next call says so. Before,
// the client heard how it went.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(t.TempDir(), "gate")
	w.call("run", values{"code": "mkfifo " + gate})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.client.CallTool(ctx, &sdk.CallToolParams{
			Meta: sdk.Meta{"progressToken": "p"}, Name: "run", Arguments: values{"code": "echo begun; cat " + gate, "timeout": 600},
		})
		ended <- err
	}()
	for line := range w.heard {
		if line == "begun" {
			break
		}
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the cancelled call succeeded")
	}
	w.refuse("run", values{"code": "true"}, "still running", "wait")
	if err := os.WriteFile(gate, []byte("done\n"), 0); err != nil {
		t.Fatal(err)
	}
	if text, _ := w.call("wait", nil); text != "begun\ndone\n[exit code 0]" {
		t.Errorf("wait: %q", text)
	}
}

// A program that no prompt was seen of, and that the kernel cannot tell about,
// ends by silence: the model is told that it is not certain.
func TestUnsure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// It waits for a timer beside its terminal, as an event loop does, and shows
	// no prompt.
	loop := `import select, sys
while True:
    if select.select([0], [], [], 0.05)[0]:
        line = sys.stdin.readline()
        if not line: break
        print("got", line.strip(), flush=True)
`
	w.call("open", values{"name": "loop", "command": []string{"python3", "-c", loop}})
	text, v := w.call("run", values{"session": "loop", "code": "hello"})
	if v["status"] != "unsure" || v["certainty"] != "guess" || !strings.Contains(text, "not certain") || !strings.Contains(text, "got hello") {
		t.Errorf("%q, %v", text, v)
	}
}

// A shell or a REPL inside a program takes code, the shell with exit codes.
func TestInner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("run", values{"code": "bash --norc", "timeout": 120})
	if text, v := w.call("run", values{"code": "echo in; (exit 7)", "inner": "shell"}); text != "in\n[exit code 7]" || v["certainty"] != "exact" {
		t.Errorf("in the shell: %q, %v", text, v)
	}
	if text, _ := w.call("run", values{"code": "(exit 6)"}); text != "[exit code 6]" {
		t.Errorf("in the shell again: %q", text)
	}
	if text, v := w.call("run", values{"code": "python3 -q"}); v["status"] != "asking" || !strings.Contains(text, "run with inner") {
		t.Errorf("python: %q, %v", text, v)
	}
	w.refuse("run", values{"code": "print(6*7)"}, "run with inner")
	if text, v := w.call("run", values{"code": "print(6*7)", "inner": "program"}); v["output"] != "42" || v["status"] != "done" {
		t.Errorf("in python: %q, %v", text, v)
	}
	w.refuse("run", values{"code": "print(6*7)", "inner": "shell"}, "prints no marks", "inner program")
	w.refuse("run", values{"code": "print(6*7)", "inner": "deep"}, "want shell or program")
	w.refuse("run", values{"code": "true", "session": "nobody", "inner": "shell"}, "nobody")

	w.call("open", values{"name": "box", "command": []string{"sh", "-c", "stty -echo; printf 'Password: '; head -n 1; stty echo; exec bash --norc"}})
	w.call("wait", values{"session": "box", "text": "Password:"})
	w.refuse("run", values{"session": "box", "code": "true", "inner": "shell"}, "password", "type")
	w.call("type", values{"session": "box", "text": "geheim", "enter": true})
	w.call("wait", values{"session": "box", "text": "$"})
	if text, _ := w.call("run", values{"session": "box", "code": "(exit 5)", "inner": "shell"}); text != "[exit code 5]" {
		t.Errorf("behind the password: %q", text)
	}
}

// Ctrl-C is pressed by keys, whatever the code does, and wait tells how it ended.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, code := range map[string]string{
		"runs": `trap 'echo bye; exit 7' INT; echo be''gun; sleep 1000`,
		"asks": `trap 'echo bye; exit 7' INT; echo be''gun; read -p "go on? " a`,
	} {
		w.call("open", values{"name": name, "command": []string{"bash", "--norc"}})
		w.call("run", values{"session": name, "code": "(" + code + ")", "timeout": 0})
		w.call("wait", values{"session": name, "text": "begun"})
		w.call("keys", values{"session": name, "keys": []string{"C-c"}})
		if text, v := w.call("wait", values{"session": name}); v["exit_code"] != 7.0 || !strings.Contains(text, "bye") {
			t.Errorf("%s: %q, %v", name, text, v)
		}
	}
}

// While next waits, the client is told what its terminals show.
func TestNextReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(t.TempDir(), "gate")
	w.call("open", values{"name": "other", "command": []string{"bash", "--norc"}})
	w.call("run", values{"code": "mkfifo " + gate + "; echo begun; cat " + gate, "timeout": 0})
	ended := make(chan error, 1)
	go func() {
		_, err := w.client.CallTool(t.Context(), &sdk.CallToolParams{Meta: sdk.Meta{"progressToken": "p"}, Name: "next", Arguments: values{"timeout": 600}})
		ended <- err
	}()
	for heard := ""; !strings.HasSuffix(heard, ": begun"); {
		select {
		case heard = <-w.heard:
		case err := <-ended:
			t.Fatalf("next ended: %v", err)
		}
	}
	if err := os.WriteFile(gate, []byte("done\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// next tells what run and answer would: an inner shell, a menu. What wait told it
// does not tell again.
func TestNextSaysTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.call("run", values{"code": "echo fired", "timeout": 0})
	w.call("wait", values{"text": "fired\n", "ready": true})
	if text, _ := w.call("wait", nil); !strings.HasPrefix(text, "fired\n[exit code 0") {
		t.Errorf("wait: %s", text)
	}
	if text, v := w.call("next", nil); v["status"] != "nothing" {
		t.Errorf("next told an end again: %s", text)
	}

	w.call("run", values{"code": "bash --norc", "timeout": 0})
	text, v := w.call("next", nil)
	if !strings.Contains(text, ": a shell inside is at its prompt: run gives it code\n") || v["inner_shells"] == nil {
		t.Errorf("next: %s, %v", text, v)
	}
	if text, _ = w.call("list", nil); !strings.Contains(text, "an inner shell is at its prompt") {
		t.Errorf("list: %s", text)
	}
	if text, _ = w.call("run", values{"code": "echo inside; false"}); !strings.HasPrefix(text, "inside\n[exit code 1") {
		t.Errorf("run: %s", text)
	}

	w.call("run", values{"code": "select x in a b; do break; done", "timeout": 0})
	const menu = "1) a\n2) b\n#?"
	if text, v = w.call("next", nil); !strings.Contains(text, ": asks\n"+menu) {
		t.Errorf("next: %s, %v", text, v)
	}
	if text, v = w.call("snapshot", nil); v["question"] != menu || !strings.Contains(text, fmt.Sprintf("asking %q", menu)) {
		t.Errorf("snapshot: %s, %v", text, v)
	}
}

// What a call may do is declared, for clients that ask a person before some.
func TestHints(t *testing.T) {
	const anything, looks = "may destroy, reaches out", "reads"
	want := map[string]string{
		"run": anything, "answer": anything, "open": anything, "type": anything, "keys": anything, "close": "may destroy, idempotent",
		"next": looks, "wait": looks, "snapshot": looks, "screenshot": looks, "history": looks, "list": looks,
		"channel_send": "adds, reaches out", "channel_ask": "adds, reaches out", "channel_read": "adds", "channel_list": looks, "channel_who": "reads, reaches out",
		"channel_join": "adds, idempotent, reaches out", "channel_part": "may destroy, idempotent, reaches out", "channel_topic": "may destroy, idempotent, reaches out",
	}
	w := newWorldIn(t, []string{"DEN_NICK=echo", "DEN_HARNESS=/nowhere"})
	list, err := w.client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(want) {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		if a == nil || a.OpenWorldHint == nil || (a.DestructiveHint == nil) != a.ReadOnlyHint {
			t.Errorf("%s declares %+v", tool.Name, a)
			continue
		}
		var words []string
		switch {
		case a.ReadOnlyHint:
			words = append(words, "reads")
		case *a.DestructiveHint:
			words = append(words, "may destroy")
		default:
			words = append(words, "adds")
		}
		if a.IdempotentHint {
			words = append(words, "idempotent")
		}
		if *a.OpenWorldHint {
			words = append(words, "reaches out")
		}
		if got := strings.Join(words, ", "); got != want[tool.Name] {
			t.Errorf("%s %s, want %s", tool.Name, got, want[tool.Name])
		}
	}
}

// The list of tools is sent in every conversation: it stays small. Models read
// names, descriptions and arguments of it, and the instructions; the rest is for
// their clients.
func TestToolListIsSmall(t *testing.T) {
	for _, c := range []struct {
		who              string
		env              []string
		tools, read, all int // read and all are bytes
		said             string
	}{
		{"anybody", nil, 12, 5000, 6000, instructions},
		{"an agent of a harness", []string{"DEN_NICK=echo", "DEN_HARNESS=/nowhere"}, 20, 6900, 8700, instructions + channelInstructions},
	} {
		w := newWorldIn(t, c.env)
		list, err := w.client.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all, read := sizeOf(t, list.Tools), 0
		for _, tool := range list.Tools {
			read += sizeOf(t, sdk.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema})
		}
		all, read = all+len(c.said), read+len(c.said)
		t.Logf("%s: %d tools, %d bytes with the instructions, of which models read %d", c.who, len(list.Tools), all, read)
		if read > c.read || all > c.all || len(list.Tools) != c.tools {
			t.Errorf("%s: %d tools take %d bytes, of which models read %d; want at most %d and %d", c.who, len(list.Tools), all, read, c.all, c.read)
		}
		if got := w.client.InitializeResult().Instructions; got != c.said {
			t.Errorf("%s: instructions: %q", c.who, got)
		}
	}
}

func sizeOf(t *testing.T, v any) int {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}
