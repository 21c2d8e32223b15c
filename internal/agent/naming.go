package agent

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"
	"text/template/parse"

	"den/internal/base/fault"
	"den/internal/base/lazy"
)

// DefaultTemplate names sessions where the workspace does not.
const DefaultTemplate = "den-{{.Workspace}}-{{.Agent}}"

// maxSessionName leaves providers room for what they add to a name.
const maxSessionName = 96

// Names makes session names by a template.
type Names struct {
	template *template.Template
	// parts is the template as text and fields in turn, or nil where it does
	// more than put them one after another.
	parts []namePart
}

type namePart struct{ text, field string }

// nameFields is what a template sees.
type nameFields struct {
	City, Workspace string // the same
	Agent           string // the qualified name, '/' as "--"
	Dir, Name       string // its parts
}

func (f nameFields) value(field string) string {
	return map[string]string{"City": f.City, "Workspace": f.Workspace, "Agent": f.Agent, "Dir": f.Dir, "Name": f.Name}[field]
}

// NewNames takes a template, "" for the default. A bad one comes back as a
// warning, with the default in its place.
func NewNames(text string) (n *Names, warning error) {
	if text == "" {
		text = DefaultTemplate
	}
	t, err := template.New("session_template").Option("missingkey=error").Parse(text)
	if err == nil {
		err = t.Execute(io.Discard, nameFields{"c", "c", "a", "d", "n"})
	}
	if err != nil {
		n, _ = NewNames("") // the default is good
		return n, fault.Hintf(fault.Errorf(fault.Usage, "session_template %q: %w", text, err),
			"sessions are named by %s instead; the fields are City, Workspace, Agent, Dir and Name", DefaultTemplate)
	}
	return &Names{template: t, parts: plainParts(t.Root)}, nil
}

// plainParts returns the template's texts and fields, or nil where it has
// anything else.
func plainParts(root *parse.ListNode) []namePart {
	var parts []namePart
	for _, n := range root.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			parts = append(parts, namePart{text: string(n.Text)})
		case *parse.ActionNode:
			if len(n.Pipe.Decl) > 0 || len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			field, ok := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !ok || len(field.Ident) != 1 {
				return nil
			}
			parts = append(parts, namePart{field: field.Ident[0]})
		default:
			return nil
		}
	}
	return parts
}

// marked is the form of a name that ends in a hash.
var marked = lazy.Regexp{Expr: `-x[0-9a-f]{10}$`}

// Session returns the session's name for an agent of a workspace. Distinct
// pairs have distinct names: where the template's result could be another
// pair's too, it gets a hash of the pair.
func (n *Names) Session(workspace, agent string) string {
	f := nameFields{City: workspace, Workspace: workspace, Agent: strings.ReplaceAll(agent, "/", "--"), Name: path.Base(agent)}
	if i := strings.LastIndexByte(agent, '/'); i >= 0 {
		f.Dir = strings.ReplaceAll(agent[:i], "/", "--")
		f.Name = agent[i+1:]
	} else {
		f.Name = agent
	}
	var out bytes.Buffer
	if err := n.template.Execute(&out, f); err != nil {
		// It has rendered before; a template that fails for some agents only is
		// as bad as one that fails for all.
		out.Reset()
		fmt.Fprintf(&out, "den-%s-%s", f.Workspace, f.Agent)
		return mark(clean(out.String()), workspace, agent)
	}
	name := out.String()
	if n.lossless(f, agent) && name == clean(name) && len(name) <= maxSessionName && name != "" && !marked.Get().MatchString(name) {
		return name
	}
	return mark(clean(name), workspace, agent)
}

// lossless reports whether the pair can be read back from the name: every
// field but the last ends where the text after it begins, and the fields tell
// the pair.
func (n *Names) lossless(f nameFields, agent string) bool {
	if n.parts == nil || !slashesReadBack(agent) {
		return false
	}
	has := map[string]bool{}
	last := -1
	for i, p := range n.parts {
		if p.field != "" {
			has[p.field] = true
			last = i
		}
	}
	for i, p := range n.parts[:max(last, 0)] {
		if p.field == "" {
			continue
		}
		next := n.parts[i+1]
		if next.text == "" || strings.IndexByte(f.value(p.field), next.text[0]) >= 0 {
			return false
		}
	}
	return (has["City"] || has["Workspace"]) && (has["Agent"] || has["Dir"] && has["Name"])
}

// slashesReadBack reports whether every "--" of the encoded name was a slash.
func slashesReadBack(agent string) bool {
	return !strings.Contains(agent, "--") && !strings.Contains(agent, "-/") && !strings.Contains(agent, "/-") &&
		!strings.Contains(agent, "//") && !strings.HasPrefix(agent, "/") && !strings.HasSuffix(agent, "/")
}

// clean keeps what every provider and every file system takes.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
}

func mark(name, workspace, agent string) string {
	name = strings.TrimLeft(name, "-.")
	if len(name) > maxSessionName-12 {
		name = name[:maxSessionName-12]
	}
	if name == "" {
		name = "den"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s/%s", len(workspace), workspace, agent))
	return fmt.Sprintf("%s-x%x", name, sum[:5])
}
