// Package vendors configures den's hook in each coding agent that has hooks, and
// reads what the agent tells the hook.
package vendors

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"den/internal/agent/permission"
	"den/internal/agent/runner/claude"
	"den/internal/base/fault"
)

// told is what the programs write to the hook. Two spellings are in use.
type told struct {
	Dir   string          `json:"cwd"`
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`

	CamelTool  string          `json:"toolName"`
	CamelInput json.RawMessage `json:"toolArgs"`
}

// RequestOf is what the use of a tool would do of which a vendor's program told
// the hook.
func RequestOf(vendor string, data []byte) (permission.Request, error) {
	var t told
	if err := json.Unmarshal(data, &t); err != nil {
		return permission.Request{}, fault.Errorf(fault.Protocol, "read what %s tells its hook: %w", vendor, err)
	}
	if t.Tool == "" {
		t.Tool, t.Input = t.CamelTool, t.CamelInput
	}
	if t.Tool == "" {
		return permission.Request{}, fault.Errorf(fault.Protocol, "read what %s tells its hook: no tool is named", vendor)
	}
	r := UseOf(vendor, t.Tool, t.Input)
	r.Dir = cmp.Or(r.Dir, t.Dir)
	return r, nil
}

// UseOf is what the use of a tool would do.
func UseOf(vendor, tool string, input json.RawMessage) permission.Request {
	var r permission.Request
	if vendor == "claude" {
		r = claude.RequestOf(tool, input)
		if tool == "Glob" {
			r.Paths = append(r.Paths, outsideOf(inputOf(input).Pattern)...)
		}
	} else {
		r = requestOf(kinds[vendor][tool], tool, input)
	}
	if r.Kind == permission.Read && len(r.Paths) == 0 { // a search that names no place searches here
		r.Paths = []string{"."}
	}
	return r
}

// kinds are the tools of the programs that den knows. Others are
// permission.Other.
var kinds = map[string]map[string]permission.Kind{
	"codex": {
		"Bash": permission.Execute, "apply_patch": permission.Edit, "update_plan": permission.Think, "request_user_input": permission.Question, "web_search": permission.Fetch,
	},
	"copilot": {
		"bash": permission.Execute, "write_bash": permission.Execute, "powershell": permission.Execute,
		"create": permission.Edit, "edit": permission.Edit, "apply_patch": permission.Edit, "str_replace_editor": permission.Edit,
		"view": permission.Read, "glob": permission.Read, "grep": permission.Read, "rg": permission.Read,
		"web_fetch": permission.Fetch, "web_search": permission.Fetch,
		"update_todo": permission.Think, "report_intent": permission.Think, "ask_user": permission.Question, "exit_plan_mode": permission.Question,
	},
	"opencode": {
		"bash": permission.Execute, "edit": permission.Edit, "write": permission.Edit, "multiedit": permission.Edit, "patch": permission.Edit, "apply_patch": permission.Edit,
		"read": permission.Read, "glob": permission.Read, "grep": permission.Read, "list": permission.Read, "lsp": permission.Read,
		"webfetch": permission.Fetch, "websearch": permission.Fetch, "codesearch": permission.Fetch,
		"todowrite": permission.Think, "todoread": permission.Think, "question": permission.Question, "plan_exit": permission.Question, "plan_enter": permission.Question,
	},
}

// input has the fields of tools' inputs that tell what a tool would do.
type input struct {
	Command  text  `json:"command"`
	Input    text  `json:"input"`
	Patch    text  `json:"patch"`
	OwnPatch text  `json:"patchText"`
	Workdir  text  `json:"workdir"`
	Path     text  `json:"path"`
	FilePath text  `json:"file_path"`
	OwnPath  text  `json:"filePath"`
	Paths    texts `json:"paths"`
	Pattern  text  `json:"pattern"`
	URL      text  `json:"url"`
	Query    text  `json:"query"`

	Description text `json:"description"`
	Question    text `json:"question"`
}

// text is a member that is not there if it is of another type: a policy asks for
// what it does not know.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
	}
	return nil
}

// texts is one text or a list of them.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	var all []string
	switch {
	case json.Unmarshal(data, &all) == nil:
		*t = all
	case json.Unmarshal(data, &one) == nil:
		*t = texts{one}
	}
	return nil
}

func inputOf(raw json.RawMessage) input {
	var in input
	if json.Unmarshal(raw, &in) != nil {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return input{}
		}
		if json.Unmarshal([]byte(s), &in) != nil { // some give JSON as text, and a patch as it is
			in.Input = text(s)
		}
	}
	return in
}

// requestOf reads a tool's input by what its members are called. What runs a
// command runs a command, whatever the tool is called.
func requestOf(kind permission.Kind, tool string, raw json.RawMessage) permission.Request {
	in := inputOf(raw)
	kind = cmp.Or(kind, permission.Other)
	r := permission.Request{Tool: tool, Kind: kind, Input: raw, Text: string(cmp.Or(in.Description, in.Question, in.Query, in.Pattern))}
	add := func(names ...string) {
		for _, name := range names {
			if name != "" && !slices.Contains(r.Paths, name) {
				r.Paths = append(r.Paths, name)
			}
		}
	}
	add(string(in.FilePath), string(in.OwnPath), string(in.Path))
	add(in.Paths...)
	switch {
	case kind == permission.Edit:
		for _, patch := range []text{in.Command, in.Input, in.Patch, in.OwnPatch} {
			add(patchedFiles(string(patch))...)
		}
	case in.Command != "":
		r.Kind, r.Command, r.Dir = permission.Execute, string(in.Command), string(in.Workdir)
	case kind == permission.Read:
		if tool == "glob" {
			add(outsideOf(in.Pattern)...)
		}
	case kind == permission.Fetch:
		r.URL = string(in.URL)
	}
	return r
}

// outsideOf returns a pattern of files that may lead out of the directory in
// which it is looked for.
func outsideOf(pattern text) []string {
	p := string(pattern)
	if path.IsAbs(p) || strings.HasPrefix(p, "~") || slices.Contains(strings.Split(p, "/"), "..") {
		return []string{p}
	}
	return nil
}

// patchedFiles are the files that a patch names.
func patchedFiles(patch string) []string {
	var files []string
	for line := range strings.Lines(patch) {
		for _, before := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), before); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}
