package mcp

import (
	"fmt"
	"strings"
	"time"

	"den/internal/session/cell"
	"den/internal/session/terminals"
)

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
