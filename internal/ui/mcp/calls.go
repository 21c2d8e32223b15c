package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/session/cell"
	"den/internal/session/news"
	"den/internal/session/terminals"
	"den/internal/session/wire"
)

// on makes a tool of a function: A are its arguments, and V is its answer, which
// text tells a model.
func on[A, V any](do func(ctx context.Context, c *terminals.Client, a A, report func(string)) (V, error), text func(V) string) func(context.Context, *terminals.Client, mcpserver.Call) (mcpserver.Answer, error) {
	return func(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
		a, err := decode[A](call.Arguments)
		if err != nil {
			return mcpserver.Answer{}, err
		}
		v, err := do(ctx, c, a, call.Report)
		if err != nil {
			return mcpserver.Answer{}, err
		}
		return mcpserver.Answer{Text: text(v), Value: v}, nil
	}
}

func run(ctx context.Context, c *terminals.Client, a runArguments, report func(string)) (r terminals.Result, err error) {
	if err := a.check(); err != nil {
		return r, err
	}
	w, err := a.starting(report)
	if err != nil {
		return r, err
	}
	if a.Inner != "" {
		if err := c.Enter(ctx, a.Session, a.Inner == innerShell); err != nil {
			return r, err
		}
	}
	return c.Run(ctx, a.Session, a.Code, w)
}

func answer(ctx context.Context, c *terminals.Client, a answerArguments, report func(string)) (r terminals.Result, err error) {
	in, err := a.input()
	if err != nil {
		return r, err
	}
	w, err := a.starting(report)
	if err != nil {
		return r, err
	}
	return c.Answer(ctx, a.Session, in, w)
}

func next(ctx context.Context, c *terminals.Client, a nextArguments, report func(string)) (none news.Answer, err error) {
	req, err := a.request()
	if err != nil {
		return none, err
	}
	return c.Next(ctx, req, report)
}

// describeNews is what happened, for a model.
func describeNews(a news.Answer) string {
	var b strings.Builder
	a.Print(&b)
	switch {
	case a.Status == news.TimedOut:
		fmt.Fprintf(&b, "[timeout; %s]", cmp.Or(a.Now(), "no code runs"))
	case a.Status == news.Nothing:
		fmt.Fprintf(&b, "[no code runs; %s]", cmp.Or(a.Now(), "none asks"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func open(ctx context.Context, c *terminals.Client, a openArguments, _ func(string)) (terminals.Opened, error) {
	return c.Open(ctx, terminals.Open(a))
}

func typeText(ctx context.Context, c *terminals.Client, a typeArguments, _ func(string)) (t terminals.Typed, err error) {
	if a.Text == nil {
		return t, fault.Errorf(fault.Usage, "text is missing")
	}
	return c.Type(ctx, a.Session, wire.Input{Text: a.Text, Enter: a.Enter})
}

func pressKeys(ctx context.Context, c *terminals.Client, a keysArguments, _ func(string)) (t terminals.Typed, err error) {
	in, err := a.Keys.input()
	if err != nil {
		return t, err
	}
	return c.Type(ctx, a.Session, in)
}

// wait returns a [terminals.Waited], or the [terminals.Result] of running code.
func wait(ctx context.Context, c *terminals.Client, a waitArguments, report func(string)) (any, error) {
	conditions, err := a.conditions()
	if err != nil {
		return nil, err
	}
	if conditions != nil {
		return c.Wait(ctx, a.Session, *conditions, report)
	}
	w, err := a.waiting(report)
	if err != nil {
		return nil, err
	}
	return c.Await(ctx, a.Session, w)
}

// screenValue is a screen for programs.
type screenValue struct {
	Session    string      `json:"session"`
	Seq        uint64      `json:"seq"`
	Cols       int         `json:"cols"`
	Rows       int         `json:"rows"`
	Cursor     cursorValue `json:"cursor"`
	Title      string      `json:"title,omitempty"`
	AltScreen  bool        `json:"alt_screen,omitempty"`
	ScreenHash string      `json:"screen_hash"`
	// Frozen says that the session's host does not answer: this is the last
	// recorded screen.
	Frozen bool `json:"frozen,omitempty"`
	// Question is what the session's code asks now: of a menu all of it, with its
	// cursor.
	Question string `json:"question,omitempty"`
	Text     string `json:"text,omitempty"`
}

type cursorValue struct {
	Row     int  `json:"row"`
	Col     int  `json:"col"`
	Visible bool `json:"visible"`
}

func screenOf(s terminals.Shot) screenValue {
	v := s.Screen
	return screenValue{
		Session: s.Session, Seq: s.Seq, Cols: v.Cols, Rows: v.Rows, Cursor: cursorValue{v.Cursor.Row, v.Cursor.Col, v.Cursor.Visible},
		Title: v.Title, AltScreen: v.AltScreen, ScreenHash: v.Hash, Frozen: s.Frozen, Question: s.Question,
	}
}

// look takes the screen that a tool shows.
func look(ctx context.Context, c *terminals.Client, a lookArguments) (terminals.Shot, error) {
	ago, err := seconds("ago", a.Ago)
	if err != nil {
		return terminals.Shot{}, err
	}
	return c.Snapshot(ctx, a.Session, ago, 0)
}

func snapshot(ctx context.Context, c *terminals.Client, a lookArguments, _ func(string)) (v screenValue, err error) {
	shot, err := look(ctx, c, a)
	if err != nil {
		return v, err
	}
	v = screenOf(shot)
	v.Text = shot.Screen.Text
	return v, nil
}

func screenshot(ctx context.Context, c *terminals.Client, call mcpserver.Call) (none mcpserver.Answer, err error) {
	a, err := decode[lookArguments](call.Arguments)
	if err != nil {
		return none, err
	}
	shot, err := look(ctx, c, a)
	if err != nil {
		return none, err
	}
	r, err := render.New(render.Options{Cursor: render.CursorAsSet})
	if err != nil {
		return none, err
	}
	picture, err := r.PNG(render.FromSnapshot(&shot.Screen, r.Theme()))
	if err != nil {
		return none, err
	}
	// No structured value: some clients show that to their model in place of
	// everything else, and the picture would be lost.
	return mcpserver.Answer{PNG: picture.Data, Text: describeFacts(screenOf(shot))}, nil
}

// Bounds of history's lines.
const (
	defaultLines = 100
	maxLines     = 5000
)

// historyValue is the end of what a terminal printed.
type historyValue struct {
	Session string   `json:"session"`
	Seq     uint64   `json:"seq"`
	Lines   []string `json:"lines"`
}

func history(ctx context.Context, c *terminals.Client, a historyArguments, _ func(string)) (v historyValue, err error) {
	n := defaultLines
	if a.Lines != nil {
		n = *a.Lines
	}
	if n < 1 || n > maxLines {
		return v, fault.Errorf(fault.Usage, "lines %d: from 1 to %d", n, maxLines)
	}
	shot, err := c.Snapshot(ctx, a.Session, 0, n)
	if err != nil {
		return v, err
	}
	lines := strings.Split(shot.Screen.PlainText(), "\n")
	return historyValue{shot.Session, shot.Seq, lines[max(0, len(lines)-n):]}, nil
}

// listValue is all terminals.
type listValue struct {
	Terminals []terminals.Listed `json:"terminals"`
}

func list(ctx context.Context, c *terminals.Client, _ struct{}, _ func(string)) (listValue, error) {
	all, err := c.List(ctx)
	return listValue{all}, err
}

func closeTerminal(ctx context.Context, c *terminals.Client, a closeArguments, _ func(string)) (closed terminals.Closed, err error) {
	if a.Session == "" {
		return closed, fault.Errorf(fault.Usage, "session is missing: which terminal is to be ended?")
	}
	return c.CloseTerminal(ctx, a.Session)
}

func describeOpened(o terminals.Opened) string {
	return fmt.Sprintf("session %s runs %s", o.Session, strings.Join(o.Command, " "))
}

func describeTyped(t terminals.Typed) string { return fmt.Sprintf("sent; seq %d", t.Seq) }

// describeResult is the result of code for a model: its output, and in brackets
// how it ended and what to do next.
func describeResult(r terminals.Result) string {
	facts := []string{describeEnd(r)}
	switch {
	case r.OutputFile != "" && r.OutputLacks != "":
		facts = append(facts, "the output is in "+r.OutputFile)
	case r.OutputFile != "":
		facts = append(facts, "all of the output is in "+r.OutputFile)
	}
	if r.OutputLacks != "" {
		facts = append(facts, "the output lacks: "+r.OutputLacks)
	}
	if r.NotSaved != "" {
		facts = append(facts, "not saved: "+r.NotSaved)
	}
	if r.Note != "" {
		facts = append(facts, r.Note)
	}
	text := "[" + strings.Join(facts, "; ") + "]"
	if r.Output == "" {
		return text
	}
	return strings.TrimSuffix(r.Output, "\n") + "\n" + text
}

func describeEnd(r terminals.Result) string {
	switch {
	case r.Status == terminals.Asking:
		return describeQuestion(r)
	case r.Status == string(cell.TimedOut):
		return fmt.Sprintf("timeout after %.1f s", float64(r.DurationMS)/1000)
	case r.Status == string(cell.Unsure):
		return "unsure"
	case r.Status == string(cell.Failed) && r.By != "":
		return "error, " + string(r.By)
	case r.ExitCode != nil && r.By == cell.ByExit:
		return fmt.Sprintf("the program of session %s ended with exit code %d", r.Session, *r.ExitCode)
	case r.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return r.Status
}

// describeQuestion repeats no question with which the output ends.
func describeQuestion(r terminals.Result) string {
	if r.ShowsQuestion() {
		return "asking"
	}
	return fmt.Sprintf("asking %q", r.Question)
}

// describeWait is the end of a wait for a model.
func describeWait(v any) string {
	w, ok := v.(terminals.Waited)
	if !ok {
		return describeResult(v.(terminals.Result))
	}
	end := fmt.Sprintf("[%s; seq %d]", w.Status, w.Seq)
	if w.ExitCode != nil {
		end = fmt.Sprintf("[%s; exit code %d; seq %d]", w.Status, *w.ExitCode, w.Seq)
	}
	if w.Matched {
		return strings.TrimPrefix(w.Text+"\n"+end, "\n")
	}
	text := "not met: " + strings.Join(w.Unmet, ", ")
	if len(w.LastLines) > 0 {
		text += "\nthe screen ends with:\n" + strings.Join(w.LastLines, "\n")
	}
	return text + "\n" + end
}

// describeScreen is a screen for a model.
func describeScreen(s screenValue) string { return s.Text + "\n" + describeFacts(s) }

// describeFacts is what a screen's text does not show.
func describeFacts(s screenValue) string {
	facts := []string{fmt.Sprintf("%dx%d", s.Cols, s.Rows), fmt.Sprintf("cursor row %d, column %d", s.Cursor.Row, s.Cursor.Col), fmt.Sprintf("seq %d", s.Seq)}
	if strings.Contains(s.Question, "\n") { // a menu: the text need not show which line is chosen
		facts = append(facts, fmt.Sprintf("asking %q", s.Question))
	}
	if s.Frozen {
		facts = append(facts, "its host does not answer: this is the last recorded screen")
	}
	return "[" + strings.Join(facts, "; ") + "]"
}

// describeList is a list of terminals for a model, one to a line.
func describeList(v listValue) string {
	now := time.Now()
	if len(v.Terminals) == 0 {
		return "there are no terminals; run opens your shell"
	}
	var b strings.Builder
	for _, l := range v.Terminals {
		fmt.Fprintf(&b, "%s: %s, %s, %dx%d, %s old, %s\n", l.Session, owner(l), state(l), l.Cols, l.Rows, now.Sub(l.Created).Round(time.Second), strings.Join(l.Command, " "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func owner(l terminals.Listed) string {
	words := "another's"
	if l.Mine {
		words = "yours"
	}
	if l.Shell {
		words = "your shell"
	}
	if l.Kept {
		words += ", kept"
	}
	return words
}

func state(l terminals.Listed) string {
	switch {
	case l.ExitCode != nil:
		return fmt.Sprintf("%s with exit code %d", l.Status, *l.ExitCode)
	case l.InnerShell:
		return "an inner shell is at its prompt"
	case l.Question != "":
		return fmt.Sprintf("asking %q", l.Question)
	case l.Code != "":
		return "code " + l.Code
	}
	return string(l.Status)
}

const (
	// uriPrefix begins every URI; a terminal's name and a part of it follow.
	uriPrefix      = "den://terminal/"
	partScreen     = "screen"
	partRecording  = "recording"
	typeRecording  = "application/x-asciicast"
	maxRecording   = 4 << 20 // bytes
	screenWords    = "The screen, as text."
	recordingWords = "Everything that it printed, as an asciicast."
)

func resources() *mcpserver.Resources[*terminals.Client] {
	return &mcpserver.Resources[*terminals.Client]{
		Templates: []mcpserver.Resource{
			{URI: uriPrefix + "{session}/" + partScreen, Name: "a terminal's screen", Description: screenWords, MIMEType: "text/plain"},
			{URI: uriPrefix + "{session}/" + partRecording, Name: "a terminal's recording", Description: recordingWords, MIMEType: typeRecording},
		},
		List: listResources,
		Read: readResource,
	}
}

func listResources(ctx context.Context, c *terminals.Client) ([]mcpserver.Resource, error) {
	all, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	var found []mcpserver.Resource
	for _, l := range all {
		found = append(found,
			mcpserver.Resource{URI: uriPrefix + l.Session + "/" + partScreen, Name: "screen of " + l.Session, Description: screenWords, MIMEType: "text/plain"},
			mcpserver.Resource{URI: uriPrefix + l.Session + "/" + partRecording, Name: "recording of " + l.Session, Description: recordingWords, MIMEType: typeRecording})
	}
	return found, nil
}

// parseURI splits a resource's URI.
func parseURI(uri string) (session, part string, ok bool) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return "", "", false
	}
	session, part, ok = strings.Cut(rest, "/")
	return session, part, ok && session != "" && (part == partScreen || part == partRecording)
}

func readResource(ctx context.Context, c *terminals.Client, uri string) (string, error) {
	session, part, ok := parseURI(uri)
	if !ok {
		return "", fault.Errorf(fault.NotFound, "there is no %s", uri)
	}
	if part == partScreen {
		shot, err := c.Snapshot(ctx, session, 0, 0)
		if err != nil {
			return "", err
		}
		return shot.Screen.Text, nil
	}
	dir, err := c.Recording(session)
	if err != nil {
		return "", err
	}
	return cast(session, dir)
}

// cast is the recording of a session, if it is not too long for a message. What
// was typed is not in it.
func cast(session, dir string) (string, error) {
	log, err := eventlog.Open(dir)
	if err != nil {
		return "", err
	}
	b := bounded{limit: maxRecording}
	if _, err := eventlog.WriteCast2(&b, log, eventlog.CastOptions{}); err != nil {
		if b.full {
			return "", fault.Hintf(fault.Errorf(fault.Unsupported, "the recording of '%s' is longer than %d bytes", session, maxRecording), "its files are in %s", dir)
		}
		return "", err
	}
	return b.String(), nil
}

// bounded takes so many bytes and refuses more.
type bounded struct {
	strings.Builder
	limit int
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.Len()+len(p) > b.limit; b.full {
		return 0, fault.Errorf(fault.Unsupported, "more than %d bytes", b.limit)
	}
	return b.Builder.Write(p)
}
