package acp

import (
	"encoding/json"
	"path/filepath"
	"slices"

	sdk "github.com/coder/acp-go-sdk"

	"den/internal/agent/permission"
)

// kinds maps the protocol's kinds of tools to those that policies know. The
// kinds that are missing, and new ones, are Other.
var kinds = map[string]permission.Kind{
	string(sdk.ToolKindRead):    permission.Read,
	string(sdk.ToolKindSearch):  permission.Read,
	string(sdk.ToolKindEdit):    permission.Edit,
	string(sdk.ToolKindDelete):  permission.Edit,
	string(sdk.ToolKindMove):    permission.Edit,
	string(sdk.ToolKindExecute): permission.Execute,
	string(sdk.ToolKindFetch):   permission.Fetch,
	string(sdk.ToolKindThink):   permission.Think,
}

// permissionRequest is what a use of a tool asks permission for. A title is
// made for people, so it never stands in for a command that was not given.
func (t *toolCall) permissionRequest() permission.Request {
	kind, known := kinds[t.Kind]
	if !known {
		kind = permission.Other
	}
	var in struct {
		Command  json.RawMessage `json:"command"`
		Cmd      json.RawMessage `json:"cmd"`
		Cwd      string          `json:"cwd"`
		Workdir  string          `json:"workdir"`
		URL      string          `json:"url"`
		Path     string          `json:"path"`
		FilePath string          `json:"filePath"`
		File     string          `json:"file_path"`
		Pattern  string          `json:"pattern"`
	}
	_ = decode(t.RawInput, &in) // Best effort: an agent may give no input, or text.
	r := permission.Request{
		Tool: t.tool(), Kind: kind, Text: t.Title, URL: in.URL,
		Command: firstOf(commandText(in.Command), commandText(in.Cmd)), Dir: firstOf(in.Cwd, in.Workdir),
	}
	if hasContent(t.RawInput) {
		r.Input = t.RawInput
	}
	r.Paths = t.paths(in.Path, in.FilePath, in.File)
	if t.Kind == string(sdk.ToolKindSearch) && len(r.Paths) == 0 && in.Pattern != "" && filepath.IsLocal(in.Pattern) {
		r.Paths = []string{"."} // where it works, as opencode's grep and glob mean it
	}
	return r
}

// paths are the files of a tool's use: those that it names, its differences'
// and its input's.
func (t *toolCall) paths(more ...string) []string {
	var all []string
	add := func(path string) {
		if path != "" && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	for _, l := range t.Locations {
		add(l.Path)
	}
	var parts []content
	_ = json.Unmarshal(t.Content, &parts) // Best effort: not every tool has content.
	for _, p := range parts {
		add(p.Path)
	}
	for _, path := range more {
		add(path)
	}
	return all
}

// commandText is a command given as text or as a list of words.
func commandText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var words []string
	if json.Unmarshal(raw, &words) == nil {
		return quoteWords(words)
	}
	return ""
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// choose finds the option that says what was decided, by its kind: the ids of
// options and their order are each agent's own. An "always" stays with den's
// policy, which knows for what exactly; the agent hears "once", so that it goes
// on asking, and the audit log goes on telling.
func choose(options []option, d permission.Decision) (id string, found bool) {
	wanted := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	if d.Allow {
		wanted = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce}
		if d.Always {
			wanted = append(wanted, sdk.PermissionOptionKindAllowAlways)
		}
	}
	for _, kind := range wanted {
		for _, o := range options {
			if o.Kind == string(kind) {
				return o.ID, true
			}
		}
	}
	return "", false
}

// outcome is the answer to a request for permission.
func outcome(optionID string, chosen bool) sdk.RequestPermissionResponse {
	if chosen {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(optionID))}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}
}
