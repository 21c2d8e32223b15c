package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/screen/render"
	"den/internal/session/cell"
	"den/internal/session/terminals"
	"den/internal/session/wire"
)

func run(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[runArguments](call.Arguments)
	if err == nil {
		err = a.check()
	}
	w, err := waiting(a.timed, call, err)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return ran(c.Run(ctx, a.Session, a.Code, w))
}

func answer(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[answerArguments](call.Arguments)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	in, err := a.input()
	w, err := waiting(a.timed, call, err)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return ran(c.Answer(ctx, a.Session, in, w))
}

// waiting is how long a call waits, unless something else is wrong with it.
func waiting(t timed, call mcpserver.Call, err error) (terminals.Waiting, error) {
	if err != nil {
		return terminals.Waiting{}, err
	}
	limit, err := t.limit()
	return terminals.Waiting{Timeout: limit, Report: call.Report}, err
}

func ran(r terminals.Result, err error) (mcpserver.Answer, error) {
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: describeResult(r), Value: r}, nil
}

func open(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[openArguments](call.Arguments)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	o, err := c.Open(ctx, terminals.Open(a))
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: fmt.Sprintf("session %s runs %s", o.Session, strings.Join(o.Command, " ")), Value: o}, nil
}

func typeText(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[typeArguments](call.Arguments)
	if err == nil && a.Text == nil {
		err = fault.Errorf(fault.Usage, "text is missing")
	}
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return typed(c.Type(ctx, a.Session, wire.Input{Text: a.Text, Enter: a.Enter}))
}

func pressKeys(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[keysArguments](call.Arguments)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	in, err := a.Keys.input()
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return typed(c.Type(ctx, a.Session, in))
}

func typed(t terminals.Typed, err error) (mcpserver.Answer, error) {
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: fmt.Sprintf("sent; seq %d", t.Seq), Value: t}, nil
}

func wait(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[waitArguments](call.Arguments)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	conditions, err := a.conditions()
	if err != nil {
		return mcpserver.Answer{}, err
	}
	if conditions == nil {
		w, err := waiting(a.timed, call, nil)
		if err != nil {
			return mcpserver.Answer{}, err
		}
		return ran(c.Await(ctx, a.Session, w))
	}
	r, err := c.Wait(ctx, a.Session, *conditions, call.Report)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: describeWait(r), Value: r}, nil
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
	Frozen bool   `json:"frozen,omitempty"`
	Text   string `json:"text,omitempty"`
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
		Title: v.Title, AltScreen: v.AltScreen, ScreenHash: v.Hash, Frozen: s.Frozen,
	}
}

// look decodes the arguments of a tool that shows a screen, and takes it.
func look(ctx context.Context, c *terminals.Client, call mcpserver.Call) (terminals.Shot, error) {
	a, err := decode[lookArguments](call.Arguments)
	if err != nil {
		return terminals.Shot{}, err
	}
	ago, err := seconds("ago", a.Ago)
	if err != nil {
		return terminals.Shot{}, err
	}
	return c.Snapshot(ctx, a.Session, ago, 0)
}

func snapshot(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	shot, err := look(ctx, c, call)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	v := screenOf(shot)
	v.Text = shot.Screen.Text
	return mcpserver.Answer{Text: describeScreen(v), Value: v}, nil
}

func screenshot(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	shot, err := look(ctx, c, call)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	r, err := render.New(render.Options{Cursor: render.CursorAsSet})
	if err != nil {
		return mcpserver.Answer{}, err
	}
	picture, err := r.PNG(render.FromSnapshot(&shot.Screen, r.Theme()))
	if err != nil {
		return mcpserver.Answer{}, err
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

func history(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[historyArguments](call.Arguments)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	n := defaultLines
	if a.Lines != nil {
		n = *a.Lines
	}
	if n < 1 || n > maxLines {
		return mcpserver.Answer{}, fault.Errorf(fault.Usage, "lines %d: from 1 to %d", n, maxLines)
	}
	shot, err := c.Snapshot(ctx, a.Session, 0, n)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	lines := strings.Split(shot.Screen.PlainText(), "\n")
	lines = lines[max(0, len(lines)-n):]
	return mcpserver.Answer{Text: strings.Join(lines, "\n"), Value: historyValue{shot.Session, shot.Seq, lines}}, nil
}

func list(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	if _, err := decode[listArguments](call.Arguments); err != nil {
		return mcpserver.Answer{}, err
	}
	all, err := c.List(ctx)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: describeList(all, time.Now()), Value: map[string]any{"terminals": all}}, nil
}

func closeTerminal(ctx context.Context, c *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
	a, err := decode[closeArguments](call.Arguments)
	if err == nil && a.Session == "" {
		err = fault.Errorf(fault.Usage, "session is missing: which terminal is to be ended?")
	}
	if err != nil {
		return mcpserver.Answer{}, err
	}
	closed, err := c.CloseTerminal(ctx, a.Session)
	if err != nil {
		return mcpserver.Answer{}, err
	}
	return mcpserver.Answer{Text: closed.Session + " is closed", Value: closed}, nil
}

// describeResult is the result of code for a model: its output, and in brackets
// how it ended and what to do next.
func describeResult(r terminals.Result) string {
	facts := []string{describeEnd(r)}
	if r.OutputFile != "" {
		facts = append(facts, "all of the output is in "+r.OutputFile)
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
	if strings.HasSuffix(strings.TrimRight(r.Output, " \n"), strings.TrimRight(r.Question, " \n")) {
		return "asking"
	}
	return fmt.Sprintf("asking %q", r.Question)
}

// describeWait is the end of a wait for a model.
func describeWait(w terminals.Waited) string {
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
	if s.Frozen {
		facts = append(facts, "its host does not answer: this is the last recorded screen")
	}
	return "[" + strings.Join(facts, "; ") + "]"
}

// describeList is a list of terminals for a model, one to a line.
func describeList(all []terminals.Listed, now time.Time) string {
	if len(all) == 0 {
		return "there are no terminals; run opens your shell"
	}
	var b strings.Builder
	for _, l := range all {
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
	case l.Question != "":
		return fmt.Sprintf("asking %q", l.Question)
	case l.Code != "":
		return "code " + l.Code
	}
	return string(l.Status)
}
