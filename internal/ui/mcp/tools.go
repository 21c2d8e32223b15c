package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/screen/keys"
	"den/internal/session/news"
	"den/internal/session/terminals"
	"den/internal/session/wire"
)

// instructions are for the model, beside the tools.
const instructions = "Real terminals whose state lasts from call to call. run knows when a command is done, fails or asks, " +
	"also in a shell behind ssh, sudo or docker exec. " +
	"Calls without session use your own shell. For REPLs, ssh, servers and full-screen programs open a terminal of their own."

type (
	tool  = mcpserver.Tool[*terminals.Client]
	hints = mcpserver.Hints
)

// looks are the hints of what only looks at den's terminals. next is one, too: what
// it told is not told again, and nothing else changes.
var looks = hints{ReadOnly: true, Closed: true}

// tools is the list for every client. Every word of it is read by a model in
// every conversation: a test bounds its size. What runs a program, or types into
// one, may do anything: its hints are none.
func tools() []tool {
	return []tool{
		{
			Name: "run",
			Description: "Run a shell command, or code in the REPL of a terminal, and wait until it is done. Returns output and exit code. " +
				"Only one at a time in a terminal. status asking: use answer. status timeout: it runs on, use wait. " +
				"Long output is cut; output_file has all of it.",
			Schema: `{"type":"object","properties":{"code":{"type":"string"},"session":{"type":"string","description":"a terminal's name, default your shell"},` +
				`"inner":{"type":"string","enum":["` + innerShell + `","` + innerProgram + `"],"description":"leave what runs; code goes to the shell or program (a REPL) inside it"},` +
				timeoutProperty + `},"required":["code"]}`,
			Output: resultOutput,
			Call:   on(run, describeResult),
		},
		{
			Name:        "answer",
			Description: "Answer what running code asks, passwords too: types text and Enter, or presses keys. Then waits and returns like run.",
			Schema:      `{"type":"object","properties":{"text":{"type":"string"},` + keysProperty + `,` + sessionProperty + `,` + timeoutProperty + `}}`,
			Output:      resultOutput,
			Call:        on(answer, describeResult),
		},
		{
			Name:        "open",
			Description: "Open another terminal. Returns its name: the session of other tools.",
			Schema: `{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"description":"program and arguments, default a shell"},` +
				`"name":{"type":"string"},"dir":{"type":"string","description":"where it starts"},"cols":{"type":"integer"},"rows":{"type":"integer"},` +
				`"keep":{"type":"boolean","description":"leave it running when you disconnect"}}}`,
			Call: on(open, describeOpened),
		},
		{
			Name:        "type",
			Description: "Type text without waiting. Returns seq: pass it to wait as after.",
			Schema:      `{"type":"object","properties":{"text":{"type":"string"},"enter":{"type":"boolean"},` + sessionProperty + `},"required":["text"]}`,
			Call:        on(typeText, describeTyped),
		},
		{
			Name:        "keys",
			Description: "Press keys. Returns seq like type. C-c interrupts code, also code that asks; then wait returns how it ended.",
			Schema:      `{"type":"object","properties":{` + keysProperty + `,` + sessionProperty + `},"required":["keys"]}`,
			Call:        on(pressKeys, describeTyped),
		},
		{
			Name: "next",
			Description: "Wait until code in any of your terminals asks, is done, shows text or is silent for idle seconds; all: until none runs. " +
				"Returns what is new, once. Several at once: run each with timeout 0, then next.",
			Schema: `{"type":"object","properties":{"all":{"type":"boolean"},"text":{"type":"string"},"idle":{"type":"number"},` + timeoutProperty + `}}`,
			Hints:  looks,
			Call:   on(next, describeNews),
		},
		{
			Name: "wait",
			Description: "Without conditions: wait for running code like run. Else wait until the screen meets all of them: " +
				"it shows text, matches regex, does not show gone, has not changed for stable seconds; the program is ready for input, or did exit.",
			Schema: `{"type":"object","properties":{"text":{"type":"string"},"regex":{"type":"string"},"gone":{"type":"string"},"stable":{"type":"number"},` +
				`"ready":{"type":"boolean"},"exit":{"type":"boolean"},"after":{"type":"integer","description":"a seq: only later output counts"},` + sessionProperty + `,` + timeoutProperty + `}}`,
			Hints: looks,
			Call:  on(wait, describeWait),
		},
		{
			Name:        "snapshot",
			Description: "The screen as text, with cursor and size, now or in the past.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,` + agoProperty + `}}`,
			Hints:       looks,
			Call:        on(snapshot, describeScreen),
		},
		{
			Name:        "screenshot",
			Description: "The screen as an image, where colours or layout matter.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,` + agoProperty + `}}`,
			Hints:       looks,
			Call:        screenshot,
		},
		{
			Name:        "history",
			Description: "The last lines, with those that scrolled away.",
			Schema:      `{"type":"object","properties":{` + sessionProperty + `,"lines":{"type":"integer","description":"default 100"}}}`,
			Hints:       looks,
			Call:        on(history, func(v historyValue) string { return strings.Join(v.Lines, "\n") }),
		},
		{
			Name:        "list",
			Description: "List terminals: yours (mine) and those of others, which you can look at.",
			Schema:      `{"type":"object","properties":{}}`,
			Hints:       looks,
			Call:        on(list, describeList),
		},
		{
			Name:        "close",
			Description: "End a terminal and all its processes.",
			Schema:      `{"type":"object","properties":{"session":{"type":"string"}},"required":["session"]}`,
			Hints:       hints{Idempotent: true, Closed: true},
			Call:        on(closeTerminal, func(c terminals.Closed) string { return c.Session + " is closed" }),
		},
	}
}

// Properties that several tools have.
const (
	sessionProperty = `"session":{"type":"string"}`
	timeoutProperty = `"timeout":{"type":"number","description":"seconds, default 30"}`
	agoProperty     = `"ago":{"type":"number","description":"seconds, default now"}`
	keysProperty    = `"keys":{"type":"array","items":{"type":"string"},"description":"such as y, Enter, C-c, Esc, Up, F5, M-x, Down*3, Click:ROW,COL"}`
)

// resultOutput is what a [terminals.Result] always or often has. An error's object
// meets it, too: nothing is required. See docs/adr/0067.
const resultOutput = `{"type":"object","properties":{"status":{"type":"string"},"output":{"type":"string"},"exit_code":{"type":"integer"},"question":{"type":"string"}}}`

// decode reads the arguments of a tool. What it does not know it refuses: a
// misspelled argument would be a silent surprise.
func decode[A any](raw json.RawMessage) (A, error) {
	var a A
	if len(bytes.TrimSpace(raw)) == 0 {
		return a, nil
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	from.DisallowUnknownFields()
	err := from.Decode(&a)
	if err == nil {
		if _, more := from.Token(); more != io.EOF {
			err = errors.New("there is more than one object")
		}
	}
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch) && mismatch.Field != "":
		name := mismatch.Field[strings.LastIndexByte(mismatch.Field, '.')+1:]
		return a, fault.Errorf(fault.Usage, "argument '%s' is a %s; want %s", name, mismatch.Value, describeType(mismatch.Type))
	case err != nil:
		return a, fault.Errorf(fault.Usage, "arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return a, nil
}

func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list of strings"
	}
	return "a whole number"
}

// The limits of a call's wait.
const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = time.Hour
)

// timed is the argument of tools that wait.
type timed struct {
	Timeout *float64 `json:"timeout"` // in seconds
}

func (t timed) limit() (time.Duration, error) {
	if t.Timeout == nil {
		return defaultTimeout, nil
	}
	d, err := seconds("timeout", *t.Timeout)
	if err == nil && (d <= 0 || d > maxTimeout) {
		err = fault.Hintf(fault.Errorf(fault.Usage, "timeout %v: it is more than 0 and at most %v seconds", *t.Timeout, maxTimeout.Seconds()),
			"code runs on after it, and wait goes on waiting")
	}
	return d, err
}

// starting is how a call waits that may return at once.
func (t timed) starting(report func(string)) (terminals.Waiting, error) {
	if t.Timeout != nil && *t.Timeout == 0 {
		return terminals.Waiting{Now: true}, nil
	}
	return t.waiting(report)
}

// waiting is how a call waits.
func (t timed) waiting(report func(string)) (terminals.Waiting, error) {
	limit, err := t.limit()
	return terminals.Waiting{Timeout: limit, Report: report}, err
}

// seconds is an argument that is a time.
func seconds(name string, s float64) (time.Duration, error) {
	const most = 365 * 24 * 3600
	if math.IsNaN(s) || s < 0 || s > most {
		return 0, fault.Errorf(fault.Usage, "%s %v: want seconds", name, s)
	}
	return time.Duration(s * float64(time.Second)), nil
}

type nextArguments struct {
	Text string  `json:"text"`
	Idle float64 `json:"idle"`
	All  bool    `json:"all"`
	timed
}

// request is what is waited for.
func (a nextArguments) request() (req news.Request, err error) {
	if req.Idle, err = seconds("idle", a.Idle); err != nil {
		return req, err
	}
	req.Text, req.All = given(a.Text), a.All
	req.Timeout, err = a.limit()
	return req, err
}

// The values of runArguments.Inner.
const (
	innerShell   = "shell"
	innerProgram = "program"
)

type runArguments struct {
	Session string `json:"session"`
	Code    string `json:"code"`
	Inner   string `json:"inner"`
	timed
}

// check tells what is missing or not known.
func (a runArguments) check() error {
	switch {
	case strings.TrimSpace(a.Code) == "":
		return fault.Errorf(fault.Usage, "code is missing")
	case a.Inner != "" && a.Inner != innerShell && a.Inner != innerProgram:
		return fault.Errorf(fault.Usage, "inner %q: want %s or %s", a.Inner, innerShell, innerProgram)
	}
	return nil
}

type answerArguments struct {
	Session string  `json:"session"`
	Text    *string `json:"text"`
	Keys    chords  `json:"keys"`
	timed
}

// input is what is typed for an answer.
func (a answerArguments) input() (wire.Input, error) {
	switch {
	case a.Text != nil && len(a.Keys) > 0:
		return wire.Input{}, fault.Errorf(fault.Usage, "give text or keys, not both")
	case a.Text != nil:
		return wire.Input{Text: a.Text, Enter: true}, nil
	}
	return a.Keys.input()
}

type openArguments struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	Dir     string   `json:"dir"`
	Cols    int      `json:"cols"`
	Rows    int      `json:"rows"`
	Keep    bool     `json:"keep"`
}

type typeArguments struct {
	Session string  `json:"session"`
	Text    *string `json:"text"`
	Enter   bool    `json:"enter"`
}

type keysArguments struct {
	Session string `json:"session"`
	Keys    chords `json:"keys"`
}

type lookArguments struct {
	Session string  `json:"session"`
	Ago     float64 `json:"ago"`
}

type historyArguments struct {
	Session string `json:"session"`
	Lines   *int   `json:"lines"`
}

type closeArguments struct {
	Session string `json:"session"`
}

// chords are keys to press: a list, or, as models give them too, words.
type chords []string

func (c *chords) UnmarshalJSON(raw []byte) error {
	var words string
	if json.Unmarshal(raw, &words) == nil {
		*c = strings.Fields(words)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(c))
}

// input checks every chord before the first is pressed.
func (c chords) input() (wire.Input, error) {
	if len(c) == 0 {
		return wire.Input{}, fault.Errorf(fault.Usage, "keys are missing, such as Enter or C-c")
	}
	for _, chord := range c {
		if _, err := keys.Parse(chord); err != nil {
			return wire.Input{}, err
		}
	}
	return wire.Input{Keys: c}, nil
}

type waitArguments struct {
	Session string  `json:"session"`
	Text    string  `json:"text"`
	Regex   string  `json:"regex"`
	Gone    string  `json:"gone"`
	Stable  float64 `json:"stable"`
	Ready   bool    `json:"ready"`
	Exit    bool    `json:"exit"`
	After   uint64  `json:"after"`
	timed
}

// conditions returns what is waited for, or nil: the running code.
func (a waitArguments) conditions() (*wire.Wait, error) {
	w := wire.Wait{Text: given(a.Text), Regex: given(a.Regex), Gone: given(a.Gone), Ready: a.Ready, Exit: a.Exit, After: a.After}
	var err error
	if w.Stable, err = seconds("stable", a.Stable); err != nil {
		return nil, err
	}
	if w == (wire.Wait{}) {
		return nil, nil
	}
	if w.Regex != nil {
		if _, err := regexp.Compile(a.Regex); err != nil {
			return nil, fault.Errorf(fault.Usage, "regex: %w", err)
		}
	}
	w.ByCommand = true
	w.Timeout, err = a.limit()
	return &w, err
}

// given is an argument that counts unless it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
