package workspace

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxYAMLNodes bounds what anchors can unfold to.
const maxYAMLNodes = 100_000

// parseYAML reads a file into nodes. An empty file is an empty table.
func parseYAML(file, text string) (n *node, err error) {
	defer func() {
		// The library is outside: input that breaks it must not break den.
		if r := recover(); r != nil {
			n, err = nil, Problems{{At: Origin{File: file}, Message: fmt.Sprintf("the YAML reader broke on this file: %v", r)}}
		}
	}()
	tree, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, yamlProblem(file, err)
	}
	b := &yamlBuilder{file: file, anchors: map[string]*node{}}
	root := &node{kind: tableNode, origin: Origin{File: file, Line: 1}}
	found := false
	for _, doc := range tree.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if found {
			return nil, Problems{{At: b.at(doc.Body), Message: "one document a file: a second begins here"}}
		}
		found = true
		if root, err = b.build(doc.Body, 0); err != nil {
			return nil, err
		}
		if root == nil {
			root = &node{kind: tableNode, origin: Origin{File: file, Line: 1}}
		}
	}
	return root, nil
}

func yamlProblem(file string, err error) Problems {
	p := Problem{At: Origin{File: file}, Message: err.Error()}
	var bad yaml.Error
	if errors.As(err, &bad) {
		p.Message = bad.GetMessage()
		if t := bad.GetToken(); t != nil && t.Position != nil {
			p.At.Line = t.Position.Line
		}
	}
	return Problems{p}
}

type yamlBuilder struct {
	file    string
	anchors map[string]*node
	count   int
}

func (b *yamlBuilder) at(n ast.Node) Origin {
	o := Origin{File: b.file, Line: 1}
	if n == nil {
		return o
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		o.Line = t.Position.Line
	}
	return o
}

func (b *yamlBuilder) problem(n ast.Node, format string, args ...any) error {
	return Problems{{At: b.at(n), Message: fmt.Sprintf(format, args...)}}
}

// build returns nil for null: a key without a value is a key that is not
// there.
func (b *yamlBuilder) build(n ast.Node, depth int) (*node, error) {
	if b.count++; b.count > maxYAMLNodes || depth > maxDepth {
		return nil, b.problem(n, "this is nested too deep or unfolds to too much")
	}
	switch n := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, nil
	case *ast.MappingNode:
		return b.table(n.Values, b.at(n), depth)
	case *ast.MappingValueNode:
		return b.table([]*ast.MappingValueNode{n}, b.at(n), depth)
	case *ast.SequenceNode:
		return b.list(n, depth)
	case *ast.AnchorNode:
		v, err := b.build(n.Value, depth+1)
		if n.Name != nil {
			b.anchors[n.Name.String()] = v
		}
		return v, err
	case *ast.AliasNode:
		return b.alias(n)
	case *ast.TagNode:
		return b.build(n.Value, depth+1)
	case *ast.LiteralNode:
		return newScalar(n.Value.Value, b.at(n)), nil
	case *ast.StringNode:
		return newScalar(n.Value, b.at(n)), nil
	case *ast.BoolNode:
		return newScalar(n.Value, b.at(n)), nil
	case *ast.IntegerNode:
		return b.integer(n)
	case *ast.FloatNode:
		return &node{kind: scalarNode, scalar: n.Value, text: n.Token.Value, origin: b.at(n)}, nil
	}
	return nil, b.problem(n, "a %s has no place here", strings.ToLower(n.Type().String()))
}

func (b *yamlBuilder) integer(n *ast.IntegerNode) (*node, error) {
	v := &node{kind: scalarNode, text: n.Token.Value, origin: b.at(n)}
	switch i := n.Value.(type) {
	case int64:
		v.scalar = i
	case uint64:
		if int64(i) < 0 {
			return nil, b.problem(n, "%d is too large a number", i)
		}
		v.scalar = int64(i)
	default:
		return nil, b.problem(n, "%s is not a number", n.Token.Value)
	}
	return v, nil
}

func (b *yamlBuilder) alias(n *ast.AliasNode) (*node, error) {
	v, ok := b.anchors[n.Value.String()]
	if !ok {
		return nil, b.problem(n, "nothing before this has the anchor '%s'", n.Value.String())
	}
	b.count += v.size()
	return v.clone(), nil
}

func (b *yamlBuilder) list(n *ast.SequenceNode, depth int) (*node, error) {
	list := &node{kind: listNode, origin: b.at(n)}
	for _, item := range n.Values {
		v, err := b.build(item, depth+1)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, b.problem(item, "an item of this list is empty")
		}
		list.items = append(list.items, v)
	}
	return list, nil
}

func (b *yamlBuilder) table(values []*ast.MappingValueNode, at Origin, depth int) (*node, error) {
	table := &node{kind: tableNode, origin: at}
	var merged []*node
	for _, pair := range values {
		v, err := b.build(pair.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, v)
			continue
		}
		key := b.key(pair.Key)
		if table.get(key) != nil {
			return nil, b.problem(pair.Key, "'%s' stands here twice", key)
		}
		if v != nil {
			own := *v // an anchor's value may stand elsewhere too
			own.origin.Line = b.at(pair.Key).Line
			table.entries = append(table.entries, entry{key, &own})
		}
	}
	for _, m := range merged {
		for _, e := range m.tables() {
			if table.get(e.key) == nil {
				table.entries = append(table.entries, e)
			}
		}
	}
	return table, nil
}

func (b *yamlBuilder) key(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	return strings.TrimSpace(n.String())
}

// size counts the nodes from n down.
func (n *node) size() int {
	if n == nil {
		return 0
	}
	total := 1
	for _, e := range n.entries {
		total += e.value.size()
	}
	for _, item := range n.items {
		total += item.size()
	}
	return total
}

// tables returns the entries of a table, or of a list of tables, as the merge
// key `<<` takes either.
func (n *node) tables() []entry {
	if n == nil {
		return nil
	}
	all := n.entries
	for _, item := range n.items {
		all = append(all, item.entries...)
	}
	return all
}
