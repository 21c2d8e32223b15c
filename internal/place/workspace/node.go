package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A node is one value of a file, with its place. Exactly one of entries, items
// and scalar is meant, as kind says.
type node struct {
	kind    nodeKind
	origin  Origin
	entries []entry // of a table, in the file's order
	items   []*node // of a list
	scalar  any     // string, int64, float64 or bool
	text    string  // a scalar as it can be an environment variable's value
	word    string  // the old key under which a file has it, or ""
}

type entry struct {
	key   string
	value *node
}

type nodeKind string

const (
	tableNode  nodeKind = "table"
	listNode   nodeKind = "list"
	scalarNode nodeKind = "scalar"
)

// maxDepth bounds the nesting of a file: the schema needs five levels.
const maxDepth = 64

func (n *node) get(key string) *node { // or nil
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

func (n *node) set(key string, value *node) {
	for i, e := range n.entries {
		if e.key == key {
			n.entries[i].value = value
			return
		}
	}
	n.entries = append(n.entries, entry{key, value})
}

func (n *node) remove(key string) {
	n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return e.key == key })
}

// describe is the word for what stands in the file, for messages.
func (n *node) describe() string {
	switch n.kind {
	case tableNode:
		return "a table"
	case listNode:
		return "a list"
	}
	switch v := n.scalar.(type) {
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case bool:
		return fmt.Sprintf("%v", v)
	}
	return fmt.Sprintf("the number %s", n.text)
}

func newScalar(v any, at Origin) *node {
	return &node{kind: scalarNode, scalar: v, text: fmt.Sprint(v), origin: at}
}

// clone copies tables and lists; scalars are never changed and are shared.
func (n *node) clone() *node {
	if n == nil || n.kind == scalarNode {
		return n
	}
	c := &node{kind: n.kind, origin: n.origin}
	for _, e := range n.entries {
		c.entries = append(c.entries, entry{e.key, e.value.clone()})
	}
	for _, item := range n.items {
		c.items = append(c.items, item.clone())
	}
	return c
}

// stamp gives n and every node below it one origin: people need not know the lines
// of den's own file.
func (n *node) stamp(at Origin) {
	n.origin = at
	for _, e := range n.entries {
		e.value.stamp(at)
	}
	for _, item := range n.items {
		item.stamp(at)
	}
}

// An Origin is where a value came from.
type Origin struct {
	File   string `json:"file,omitempty"`   // absolute, for values from a file
	Line   int    `json:"line,omitempty"`   // from 1
	Preset string `json:"preset,omitempty"` // for values of a built-in preset
	// Derived says how den made the value where nobody wrote it.
	Derived string `json:"derived,omitempty"`
}

// String is such as "den.toml:12", "preset claude", "default".
func (o Origin) String() string {
	switch {
	case o.File != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d", filepath.Base(o.File), o.Line)
	case o.File != "":
		return filepath.Base(o.File)
	case o.Preset != "":
		return "preset " + o.Preset
	case o.Derived != "":
		return o.Derived
	}
	return "default"
}

// joinOrigins names each of several origins once, in order.
func joinOrigins(all []Origin) string {
	var names []string
	seen := map[string]bool{}
	for _, o := range all {
		if s := o.String(); !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}
	return strings.Join(names, " + ")
}

// overlay lays top over base and returns the result; neither is changed.
// Tables merge key by key, `args` and `permissions` append, all else replaces. A
// layer that names a command drops `args` and `approval_modes` of the layers below,
// which belong to another command.
func overlay(base, top *node) *node {
	if base == nil || top == nil || base.kind != tableNode || top.kind != tableNode {
		if top == nil {
			return base.clone()
		}
		return top.clone()
	}
	merged := base.clone()
	merged.origin = top.origin
	if top.get("start_command") != nil {
		merged.remove("args")
		merged.remove("approval_modes")
	}
	for _, e := range top.entries {
		below := merged.get(e.key)
		switch {
		case (e.key == "args" || e.key == "permissions") && below != nil && below.kind == listNode && e.value.kind == listNode:
			joined := e.value.clone()
			joined.items = append(below.clone().items, joined.items...)
			merged.set(e.key, joined)
		case e.key == "env" && below != nil && below.kind == tableNode && e.value.kind == tableNode:
			merged.set(e.key, overlayVariables(below, e.value))
		case below != nil && below.kind == tableNode && e.value.kind == tableNode:
			merged.set(e.key, overlay(below, e.value))
		default:
			merged.set(e.key, e.value.clone())
		}
	}
	return merged
}

// overlayVariables lays one environment over another: a variable of top takes
// the place of the whole one below, so that a secret's two sources never mix.
func overlayVariables(base, top *node) *node {
	merged := base.clone()
	merged.origin = top.origin
	for _, e := range top.entries {
		merged.set(e.key, e.value.clone())
	}
	return merged
}
