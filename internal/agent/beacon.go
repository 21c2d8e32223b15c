package agent

import (
	"fmt"
	"strings"
	"text/template"
	"time"

	"den/internal/base/fault"
)

// Beacon is the line by which a person finds an agent's conversation again
// among those of a coding agent's own list. prime is a line below it, or "".
func Beacon(workspace, agent string, at time.Time, prime string) string {
	line := fmt.Sprintf("[%s] %s . %s", workspace, agent, at.Format("2006-01-02T15:04:05"))
	if prime != "" {
		line += "\n\n" + prime
	}
	return line
}

// vars is what prompt files and set-up commands see.
type vars struct {
	City, Workspace string // the same
	Agent           string // the qualified name
	Dir, Name       string // its parts
	Session         string // the session's name
	WorkDir         string
	Index           int // of a pool's member, from 1; 0 for no member
}

// expand fills a template of the user's. A field that does not exist is an
// error, not an empty word.
func expand(what, text string, v vars) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	var out strings.Builder
	t, err := template.New(what).Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(&out, v)
	}
	if err != nil {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "expand %s: %w", what, err),
			"the fields are City, Workspace, Agent, Dir, Name, Session, WorkDir and Index")
	}
	return out.String(), nil
}
