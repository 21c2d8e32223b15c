package news

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"den/internal/session"
	"den/internal/session/cell"
)

// Print writes an answer as text: what happened, the output behind it, and what
// the sessions do now.
func (a Answer) Print(w io.Writer) {
	for _, e := range a.Events {
		fmt.Fprintf(w, "%s: %s\n", e.Session, e.describe())
		for _, text := range []string{e.output(), e.Screen} {
			if text != "" {
				fmt.Fprintln(w, strings.Trim(text, "\n"))
			}
		}
	}
	if now := a.Now(); len(a.Events) > 0 && now != "" {
		fmt.Fprintf(w, "[%s]\n", now)
	}
}

// Now says what the sessions do, or "" if none has a cell.
func (a Answer) Now() string {
	isShell := func(name string) bool { return slices.Contains(a.InnerShells, name) }
	asking := slices.DeleteFunc(slices.Clone(a.Asking), isShell)
	var now []string
	for _, is := range []struct {
		what string
		of   []string
	}{{"running", a.Running}, {"asking", asking}, {"an inner shell is at its prompt", a.InnerShells}} {
		if len(is.of) > 0 {
			now = append(now, is.what+": "+strings.Join(is.of, ", "))
		}
	}
	return strings.Join(now, "; ")
}

func (e *Event) output() string {
	if e.Result == nil {
		return ""
	}
	return e.Output
}

// describe says in a line what happened.
func (e *Event) describe() string {
	what := e.what()
	if e.ExitCode != nil && e.Ending == "" {
		what += fmt.Sprintf(", exit code %d", *e.ExitCode)
	}
	if e.Result != nil && e.OutputFile != "" && e.Truncated {
		what += ", all of the output is in " + e.OutputFile
	}
	return what
}

func (e *Event) what() string {
	switch e.Status {
	case cell.Asking:
		switch {
		case e.Past:
			return fmt.Sprintf("asked %q, which is over", e.Question)
		case e.Result != nil && e.InnerShell:
			return "a shell inside is at its prompt: run gives it code"
		case e.Question != "" && e.ShowsQuestion():
			return "asks" // its output ends with the question
		case e.Question == "":
			return "waits for " + e.WaitingFor
		}
		return fmt.Sprintf("asks %q", e.Question)
	case Text:
		return fmt.Sprintf("shows %q", e.Match)
	case Idle:
		return "is silent for " + (time.Duration(e.SilentMS) * time.Millisecond).String()
	case Waiting:
		return "waits for input"
	case session.StatusNotify:
		return fmt.Sprintf("message from %s: %s", e.From, e.Message)
	case session.StatusClosed:
		return e.Ending
	case string(cell.Failed):
		if e.Result != nil && e.By != "" {
			return e.Status + " by " + string(e.By)
		}
	}
	return e.Status
}
