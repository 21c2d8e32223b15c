package workspace

import (
	"fmt"
	"slices"
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

// stamp gives every node below n the origin: what a preset's table is read
// from is den's own business.
func (n *node) stamp(at Origin) {
	n.origin = at
	for _, e := range n.entries {
		e.value.stamp(at)
	}
	for _, item := range n.items {
		item.stamp(at)
	}
}
