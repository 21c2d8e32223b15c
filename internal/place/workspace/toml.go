package workspace

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxKeyParts bounds the parts of a key in TOML, with those of the tables that
// are open around it: "a.b = { c = 1 }" has three. A path of 60,000 parts would
// be a tree as deep, and the schema needs far fewer.
const maxKeyParts = 16

// parseTOML reads a file into nodes. The library's parser knows where each key
// stands, and nothing of what TOML forbids beyond its syntax, such as a table
// that is defined twice: its decoder says that.
func parseTOML(file, text string) (*node, error) {
	b := newTOMLBuilder(file, text)
	if err := b.read(); err != nil {
		return nil, err
	}
	var values map[string]any
	if err := toml.Unmarshal([]byte(text), &values); err != nil {
		p := Problem{At: Origin{File: file}, Message: err.Error()}
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			p.At.Line, _ = bad.Position()
			p.Message = strings.TrimPrefix(bad.Error(), "toml: ")
		}
		return nil, Problems{p}
	}
	return b.root, nil
}

// tomlBuilder makes a tree of the expressions of a text. Of a text that is not
// TOML it makes some tree.
type tomlBuilder struct {
	file   string
	parser unstable.Parser
	ends   []int // offsets of the ends of lines
	root   *node
	table  *node // the one that the last header opened
	parts  int   // of that header
}

func newTOMLBuilder(file, text string) *tomlBuilder {
	root := &node{kind: tableNode, origin: Origin{File: file, Line: 1}}
	b := &tomlBuilder{file: file, root: root, table: root}
	for i := range len(text) {
		if text[i] == '\n' {
			b.ends = append(b.ends, i)
		}
	}
	b.parser.Reset([]byte(text))
	return b
}

// read takes all expressions up to the end or the first mistake, which the
// decoder tells.
func (b *tomlBuilder) read() error {
	for b.parser.NextExpression() {
		e := b.parser.Expression()
		if e.Kind == unstable.KeyValue {
			if err := b.keyValue(e, b.table, b.parts); err != nil {
				return err
			}
			continue
		}
		if err := b.header(e); err != nil {
			return err
		}
	}
	return nil
}

// header opens the table of [a.b], or a new one of the list of [[a.b]].
func (b *tomlBuilder) header(e *unstable.Node) error {
	b.table, b.parts = b.root, 0
	keys := e.Key()
	for keys.Next() {
		key, at := keys.Node(), b.at(keys.Node(), Origin{})
		if b.parts++; b.parts > maxKeyParts {
			return tooManyParts(at)
		}
		if e.Kind == unstable.Table || !keys.IsLast() {
			b.table = b.table.below(string(key.Data), at)
			continue
		}
		list := b.table.get(string(key.Data))
		if list == nil {
			list = &node{kind: listNode, origin: at}
			b.table.set(string(key.Data), list)
		}
		b.table = &node{kind: tableNode, origin: at}
		list.items = append(list.items, b.table)
	}
	return nil
}

// keyValue reads key = value into a table. parts are those of the keys around it.
func (b *tomlBuilder) keyValue(e *unstable.Node, into *node, parts int) error {
	keys := e.Key()
	for keys.Next() {
		key, at := keys.Node(), b.at(keys.Node(), Origin{})
		if parts++; parts > maxKeyParts {
			return tooManyParts(at)
		}
		if !keys.IsLast() {
			into = into.below(string(key.Data), at)
			continue
		}
		value, err := b.value(e.Value(), at, parts)
		if err != nil {
			return err
		}
		into.entries = append(into.entries, entry{string(key.Data), value})
	}
	return nil
}

func tooManyParts(at Origin) error {
	return Problems{{At: at, Message: fmt.Sprintf("a key has more than %d parts", maxKeyParts)}}
}

// below returns the table under a key, made if there is none. Of a list it is
// the last one: [a.b] after [[a]].
func (n *node) below(key string, at Origin) *node {
	child := n.get(key)
	if child == nil {
		child = &node{kind: tableNode, origin: at}
		n.set(key, child)
	}
	if last := len(child.items) - 1; last >= 0 {
		return child.items[last]
	}
	return child
}

func (b *tomlBuilder) value(v *unstable.Node, at Origin, parts int) (*node, error) {
	switch text := string(v.Data); v.Kind {
	case unstable.InlineTable:
		table := &node{kind: tableNode, origin: at}
		for pairs := v.Children(); pairs.Next(); {
			if err := b.keyValue(pairs.Node(), table, parts); err != nil {
				return nil, err
			}
		}
		return table, nil
	case unstable.Array:
		list := &node{kind: listNode, origin: at}
		for items := v.Children(); items.Next(); {
			item, err := b.value(items.Node(), b.at(items.Node(), at), parts)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, item)
		}
		return list, nil
	case unstable.String:
		return newScalar(text, at), nil
	case unstable.Bool:
		return newScalar(text == "true", at), nil
	case unstable.Integer:
		i, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return nil, Problems{{At: at, Message: fmt.Sprintf("%s is too large a number", text)}}
		}
		return newScalar(i, at), nil
	case unstable.Float:
		f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil {
			return nil, Problems{{At: at, Message: fmt.Sprintf("%s is too large a number", text)}}
		}
		return newScalar(f, at), nil
	default:
		return nil, Problems{{At: at, Message: fmt.Sprintf("a date or time has no place here: write it as text, %q", text)}}
	}
}

// at is the place of a key or a value. A list has none of its own: its first
// item's stands for it, or what it stands in.
func (b *tomlBuilder) at(n *unstable.Node, around Origin) Origin {
	for n.Kind == unstable.Array && n.Child().Valid() {
		n = n.Child()
	}
	if n.Kind == unstable.Array {
		return around
	}
	return Origin{File: b.file, Line: 1 + sort.SearchInts(b.ends, int(n.Raw.Offset))}
}
