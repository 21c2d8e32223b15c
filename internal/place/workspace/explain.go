package workspace

import (
	"encoding/json"
	"reflect"
	"slices"
)

// A Setting is one value of an agent and where it came from.
type Setting struct {
	Key     string   `json:"key"`   // such as "restart.window", "env.PATH"
	Value   any      `json:"value"` // as the file has it, paths absolute
	Origins []Origin `json:"origins"`
}

// From names the origins, for people.
func (s Setting) From() string { return joinOrigins(s.Origins) }

// Text is the value as JSON writes it.
func (s Setting) Text() string {
	data, err := json.Marshal(s.Value)
	if err != nil {
		return "?" // a file holds no value that JSON cannot
	}
	return string(data)
}

// Explain returns every value of the agent in the schema's order.
func (a *Agent) Explain() []Setting { return slices.Clone(a.settings) }

// Origin returns where a value came from: den's default where nobody wrote it.
func (a *Agent) Origin(key string) Origin {
	for _, s := range a.settings {
		if s.Key == key && len(s.Origins) > 0 {
			return s.Origins[len(s.Origins)-1]
		}
	}
	return Origin{}
}

// explain walks a merged table in the schema's order.
func explain(n *node, t reflect.Type, prefix string) []Setting {
	var all []Setting
	for _, f := range fieldsOf(t) {
		value := n.get(f.names[0])
		if value == nil {
			continue
		}
		key := prefix + f.names[0]
		ft := t.FieldByIndex(f.index).Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		switch {
		case value.kind == tableNode && ft == reflect.TypeFor[Environment]():
			all = append(all, explainEnvironment(value, key)...)
		case value.kind == tableNode && ft == reflect.TypeFor[Table]():
			all = append(all, explainTable(value, key+".")...)
		case value.kind == tableNode && ft.Kind() == reflect.Struct:
			all = append(all, explain(value, ft, key+".")...)
		case value.kind == tableNode:
			for _, e := range value.entries {
				all = append(all, Setting{Key: key + "." + e.key, Value: e.value.text, Origins: []Origin{e.value.origin}})
			}
		default:
			all = append(all, Setting{Key: key, Value: value.plain(), Origins: value.origins()})
		}
	}
	return all
}

// explainTable walks a table of which no schema is known, in the file's order.
func explainTable(n *node, prefix string) []Setting {
	var all []Setting
	for _, e := range n.entries {
		if e.value.kind == tableNode {
			all = append(all, explainTable(e.value, prefix+e.key+".")...)
			continue
		}
		all = append(all, Setting{Key: prefix + e.key, Value: e.value.plain(), Origins: e.value.origins()})
	}
	return all
}

// plain is the node as JSON can hold it.
func (n *node) plain() any {
	switch n.kind {
	case scalarNode:
		return n.scalar
	case listNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.plain()
		}
		return list
	}
	table := map[string]any{}
	for _, e := range n.entries {
		table[e.key] = e.value.plain()
	}
	return table
}

// origins of a list are those of its items, as layers may have joined it.
func (n *node) origins() []Origin {
	if n.kind != listNode || len(n.items) == 0 {
		return []Origin{n.origin}
	}
	var all []Origin
	for _, item := range n.items {
		if !slices.Contains(all, item.origin) {
			all = append(all, item.origin)
		}
	}
	return all
}
