package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"den/internal/agent/permission"
)

// askUserQuestion is the tool by which the agent asks a person. It comes as a
// question for permission; its answers go into the tool's input.
const askUserQuestion = "AskUserQuestion"

// asked handles a control request of the agent.
func (s *session) asked(m *message) {
	if s.called(m) {
		return
	}
	if m.Request == nil || m.Request.Subtype != "can_use_tool" {
		what := "a request without content"
		if m.Request != nil {
			what = m.Request.Subtype
			s.skipped.Add("control_request/" + what)
		}
		s.replies.Send(controlReply{Type: "control_response", Response: replyToTool{
			Subtype: "error", RequestID: m.RequestID, Error: "den does not support " + what,
		}})
		return
	}
	request := m.Request
	ask := requestOf(request)
	ask.Dir = s.dirOf(request.ToolUseID)
	s.questions.Ask(m.RequestID, ask, func(d permission.Decision) {
		s.replies.Send(controlReply{Type: "control_response", Response: replyToTool{
			Subtype: "success", RequestID: m.RequestID, Response: answerTo(request, d),
		}})
	})
}

// toolInput has the fields of tools' inputs that tell what a tool would do.
type toolInput struct {
	Command      string `json:"command"`
	Description  string `json:"description"`
	FilePath     string `json:"file_path"`
	NotebookPath string `json:"notebook_path"`
	Path         string `json:"path"`
	Pattern      string `json:"pattern"`
	URL          string `json:"url"`
	Query        string `json:"query"`
	Questions    []struct {
		Question string `json:"question"`
		Options  []struct {
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`
}

// RequestOf is what a use of one of the agent's tools would do.
func RequestOf(tool string, input json.RawMessage) permission.Request {
	return requestOf(&toolRequest{ToolName: tool, Input: input})
}

func requestOf(r *toolRequest) permission.Request {
	var in toolInput
	if json.Unmarshal(r.Input, &in) != nil {
		in = toolInput{} // of an unknown shape: the policy sees Input itself
	}
	out := permission.Request{Tool: r.ToolName, Kind: kindOf(r.ToolName), Text: r.Description, Input: r.Input}
	for _, path := range []string{in.FilePath, in.NotebookPath, in.Path, r.BlockedPath} {
		if path != "" && !slices.Contains(out.Paths, path) {
			out.Paths = append(out.Paths, path)
		}
	}
	if in.Command != "" {
		out.Kind, out.Command = permission.Execute, in.Command
	}
	if out.Kind == permission.Fetch {
		out.URL = in.URL
	}
	if out.Text == "" {
		out.Text = firstOf(in.Description, in.Query, in.Pattern)
	}
	if r.ToolName == askUserQuestion {
		var all []string
		for _, q := range in.Questions {
			all = append(all, q.Question)
		}
		out.Kind, out.Text = permission.Question, strings.Join(all, "\n")
		if len(in.Questions) == 1 { // the choices of several cannot be told apart
			for _, o := range in.Questions[0].Options {
				out.Choices = append(out.Choices, o.Label)
			}
		}
	}
	return out
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

func kindOf(tool string) permission.Kind {
	switch tool {
	case "Bash", "PowerShell", "Monitor":
		return permission.Execute
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return permission.Edit
	case "Read", "Glob", "Grep", "LS", "NotebookRead", "LSP":
		return permission.Read
	case "WebFetch", "WebSearch":
		return permission.Fetch
	case "TodoWrite", "EnterPlanMode", "ExitPlanMode", "ToolSearch":
		return permission.Think
	}
	return permission.Other
}

type allowed struct {
	Behavior     string          `json:"behavior"` // "allow"
	UpdatedInput json.RawMessage `json:"updatedInput"`
}

type denied struct {
	Behavior  string `json:"behavior"` // "deny"
	Message   string `json:"message"`
	Interrupt bool   `json:"interrupt"`
}

// answerTo is the agent's answer. It is not told of an "always": the rules that
// it suggests are wider than what was decided ('touch made *' for 'touch made'),
// and what they cover is no longer asked for, whatever den's policy denies.
func answerTo(r *toolRequest, d permission.Decision) any {
	if r.ToolName == askUserQuestion && d.Allow {
		return answerQuestion(r, d)
	}
	if !d.Allow {
		return denied{Behavior: "deny", Message: firstOf(d.Reason, "permission was denied"), Interrupt: d.Interrupt}
	}
	return allowed{Behavior: "allow", UpdatedInput: objectOr(r.Input)}
}

func objectOr(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// answerQuestion gives the person's answer to every question. Without one it
// says that there is none: an empty answer would be taken for consent.
func answerQuestion(r *toolRequest, d permission.Decision) any {
	var in toolInput
	var input map[string]json.RawMessage
	if d.Answer == "" || json.Unmarshal(r.Input, &in) != nil || json.Unmarshal(r.Input, &input) != nil || len(in.Questions) == 0 {
		return denied{Behavior: "deny", Message: firstOf(d.Reason, "nobody answered: decide by yourself, or ask in your reply")}
	}
	answers := map[string]string{}
	for _, q := range in.Questions {
		answers[q.Question] = d.Answer
	}
	var err error
	if input["answers"], err = json.Marshal(answers); err != nil {
		return denied{Behavior: "deny", Message: fmt.Sprintf("the answer could not be encoded: %v", err)}
	}
	updated, err := json.Marshal(input)
	if err != nil {
		return denied{Behavior: "deny", Message: fmt.Sprintf("the answer could not be encoded: %v", err)}
	}
	return allowed{Behavior: "allow", UpdatedInput: updated}
}
