package claude

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/base/fault"
)

// sessionFile is what is read of sessions/PID.json.
type sessionFile struct {
	PID             int    `json:"pid"`
	SessionID       string `json:"sessionId"`
	ProcStart       string `json:"procStart"` // field 22 of /proc/PID/stat
	Kind            string `json:"kind"`      // "interactive" for one with a screen
	Status          string `json:"status"`    // "" while it comes up
	WaitingFor      string `json:"waitingFor"`
	StatusUpdatedAt int64  `json:"statusUpdatedAt"` // milliseconds
}

func parseFile(data []byte) (sessionFile, error) {
	var f sessionFile
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fault.Errorf(fault.Protocol, "read Claude Code's session file: %w", err)
	}
	return f, nil
}

// state is what the file says. One that has no status yet, or one that is not
// known here, leaves it to the screen.
func (f sessionFile) state() conversation.State {
	s := conversation.State{Activity: conversation.Unknown, Source: Name}
	if f.StatusUpdatedAt > 0 {
		s.Since = time.UnixMilli(f.StatusUpdatedAt)
	}
	switch f.Status {
	case "busy":
		s.Activity = conversation.Busy
	case "idle":
		s.Activity = conversation.Ready
	case "shell":
		s.Activity, s.Why = conversation.Ready, "a shell runs in the background"
	case "waiting":
		s.Activity, s.Question = conversation.Asking, f.question()
	case "":
		s.Why = "it has no status yet"
	default:
		s.Why = fmt.Sprintf("its status %q is not known", f.Status)
	}
	return s
}

// question is what the file tells of a decision: its kind, not its text.
func (f sessionFile) question() *conversation.Question {
	q := &conversation.Question{
		ID:   f.SessionID + "@" + strconv.FormatInt(f.StatusUpdatedAt, 10),
		Text: f.WaitingFor, Vague: true, Kind: conversation.Dialog,
	}
	switch f.WaitingFor {
	case "permission prompt":
		q.Kind = conversation.Permission
	case "input needed":
		q.Kind = conversation.Choice
	}
	return q
}

// startTime returns field 22 of a /proc/PID/stat, "" for a process that has
// ended and is not collected. The command name may hold anything, so fields
// are counted from its end.
func startTime(stat string) string {
	closing := strings.LastIndexByte(stat, ')')
	if closing < 0 {
		return ""
	}
	const startField = 22 - 3 // the first after the name is field 3
	fields := strings.Fields(stat[closing+1:])
	if len(fields) <= startField || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[startField]
}
