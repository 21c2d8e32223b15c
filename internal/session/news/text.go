package news

import (
	"fmt"
	"io"
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
	var rest []string
	if len(a.Running) > 0 {
		rest = append(rest, "running: "+strings.Join(a.Running, ", "))
	}
	if len(a.Asking) > 0 {
		rest = append(rest, "asking: "+strings.Join(a.Asking, ", "))
	}
	if len(a.Events) > 0 && len(rest) > 0 {
		fmt.Fprintf(w, "[%s]\n", strings.Join(rest, "; "))
	}
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
		switch shown := strings.TrimRight(e.output(), " \n"); {
		case e.Past:
			return fmt.Sprintf("asked %q, which is over", e.Question)
		case e.Question != "" && strings.HasSuffix(shown, e.Question):
			return "asks" // its output ends with the question
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
