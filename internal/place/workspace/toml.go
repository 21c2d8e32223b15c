package workspace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// parseTOML reads a file into nodes. The library knows TOML but does not tell
// lines of keys, so the lines come from a scan of their own.
func parseTOML(file, text string) (*node, error) {
	var values map[string]any
	if _, err := toml.Decode(text, &values); err != nil {
		var bad toml.ParseError
		if errors.As(err, &bad) {
			return nil, Problems{{At: Origin{File: file, Line: bad.Position.Line}, Message: strings.TrimSpace(bad.Message)}}
		}
		return nil, Problems{{At: Origin{File: file}, Message: err.Error()}}
	}
	b := tomlBuilder{file: file, lines: tomlLines(text)}
	return b.build(values, "", 1)
}

type tomlBuilder struct {
	file  string
	lines map[string]int
}

// build turns the library's values into nodes. A value without a line of its
// own has that of what it stands in.
func (b tomlBuilder) build(v any, path string, line int) (*node, error) {
	if at, ok := b.lines[path]; ok {
		line = at
	}
	at := Origin{File: b.file, Line: line}
	switch v := v.(type) {
	case map[string]any:
		n := &node{kind: tableNode, origin: at}
		for key, value := range v {
			child, err := b.build(value, joinPath(path, key), line)
			if err != nil {
				return nil, err
			}
			n.entries = append(n.entries, entry{key, child})
		}
		slices.SortFunc(n.entries, func(x, y entry) int {
			if d := x.value.origin.Line - y.value.origin.Line; d != 0 {
				return d
			}
			return strings.Compare(x.key, y.key)
		})
		return n, nil
	case []map[string]any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = v[i]
		}
		return b.list(items, path, at)
	case []any:
		return b.list(v, path, at)
	case string, bool, int64, float64:
		return newScalar(v, at), nil
	}
	return nil, Problems{{At: at, Message: fmt.Sprintf("a date or time has no place here: write it as text, %q", fmt.Sprint(v))}}
}

func (b tomlBuilder) list(items []any, path string, at Origin) (*node, error) {
	n := &node{kind: listNode, origin: at}
	for i, item := range items {
		child, err := b.build(item, joinPath(path, strconv.Itoa(i)), at.Line)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, child)
	}
	return n, nil
}

// joinPath uses a byte that no key can hold.
func joinPath(path, key string) string { return path + "\x00" + key }
