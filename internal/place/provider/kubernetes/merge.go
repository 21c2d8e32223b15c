package kubernetes

import (
	"encoding/json"
	"slices"
)

// mergeJSON puts one object over another: objects are merged key by key, null
// removes a key, and lists whose items have names, such as containers, volumes
// and variables, are merged item by item. Other lists and values are replaced.
func mergeJSON(base, over []byte) ([]byte, error) {
	var b, o map[string]any
	if err := json.Unmarshal(base, &b); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(over, &o); err != nil {
		return nil, err
	}
	return json.Marshal(mergeValue(b, o))
}

func mergeValue(base, over any) any {
	switch o := over.(type) {
	case map[string]any:
		b, ok := base.(map[string]any)
		if !ok {
			b = map[string]any{}
		}
		for key, value := range o {
			if value == nil {
				delete(b, key)
				continue
			}
			b[key] = mergeValue(b[key], value)
		}
		return b
	case []any:
		if b, ok := base.([]any); ok && named(b) && named(o) {
			return mergeNamed(b, o)
		}
	}
	return over
}

// named reports whether all items of a list are objects with a name.
func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return nameOf(item) == "" })
}

func nameOf(item any) string {
	o, _ := item.(map[string]any)
	name, _ := o["name"].(string)
	if at, ok := o["mountPath"].(string); ok { // one volume may be at many paths
		name += "\x00" + at
	}
	return name
}

func mergeNamed(base, over []any) []any {
	for _, item := range over {
		if i := slices.IndexFunc(base, func(b any) bool { return nameOf(b) == nameOf(item) }); i >= 0 {
			base[i] = mergeValue(base[i], item)
		} else {
			base = append(base, item)
		}
	}
	return base
}
