package workspace

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A fieldSpec is one key that a table may hold.
type fieldSpec struct {
	names []string // the first is the key's own name
	index []int    // for reflect's FieldByIndex
}

// fieldsOf lists the keys of a struct, from its tags.
func fieldsOf(t reflect.Type) []fieldSpec {
	var all []fieldSpec
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		if tag == ",inline" {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
			continue
		}
		all = append(all, fieldSpec{names: strings.Split(tag, ","), index: []int{i}})
	}
	return all
}

func ownNames(fields []fieldSpec) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.names[0])
	}
	return all
}

// canonical gives every key of a table its own name in place of an alias, in
// nested tables too, and reports those that the schema does not know.
func canonical(n *node, t reflect.Type, where string, r *report, also ...string) {
	if n.kind != tableNode {
		return // decode says what is wrong
	}
	fields := fieldsOf(t)
	seen := map[string]string{}
	for i, e := range n.entries {
		if slices.Contains(also, e.key) {
			continue
		}
		at := slices.IndexFunc(fields, func(f fieldSpec) bool { return slices.Contains(f.names, e.key) })
		if why, ok := notTaken()[e.key]; ok && at < 0 {
			r.add(e.value.origin, "'%s' in %s is not taken: %s", e.key, where, why)
			continue
		}
		if at < 0 {
			r.add(e.value.origin, "unknown key '%s' in %s%s", e.key, where, didYouMean(e.key, append(ownNames(fields), also...)))
			continue
		}
		name := fields[at].names[0]
		if other, ok := seen[name]; ok {
			r.add(e.value.origin, "'%s' and '%s' in %s mean the same: keep one", other, e.key, where)
		}
		seen[name] = e.key
		n.entries[i].key = name
		canonicalBelow(e.value, t.FieldByIndex(fields[at].index).Type, name, r)
	}
}

func canonicalBelow(n *node, t reflect.Type, where string, r *report) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[Environment](): // its keys are the user's
	case t == reflect.TypeFor[Table](): // its keys are for its reader to know
	case t.Kind() == reflect.Struct:
		canonical(n, t, where, r)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && n.kind == listNode:
		for _, item := range n.items {
			canonical(item, t.Elem(), where, r)
		}
	}
}

// decode puts a canonical table into the struct that v points to. What does
// not fit is reported and left as it was.
func decode(n *node, v any, where string, r *report) {
	decodeTable(n, reflect.ValueOf(v).Elem(), where, r)
}

func decodeTable(n *node, v reflect.Value, where string, r *report) {
	if n.kind != tableNode {
		r.add(n.origin, "%s must be a table, not %s", where, n.describe())
		return
	}
	for _, f := range fieldsOf(v.Type()) {
		if child := n.get(f.names[0]); child != nil {
			decodeValue(child, v.FieldByIndex(f.index), f.names[0], r)
		}
	}
}

func decodeValue(n *node, v reflect.Value, key string, r *report) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		decodeDuration(n, v, key, r)
	case v.Type() == reflect.TypeFor[Env]():
		decodeEnv(n, v, key, r)
	case v.Type() == reflect.TypeFor[Environment]():
		decodeEnvironment(n, v, r)
	case v.Type() == reflect.TypeFor[CopyEntry]() && n.kind == scalarNode:
		decodeValue(n, v.Field(0), key, r) // a bare path
	case v.Type() == reflect.TypeFor[Table]():
		decodeOpaque(n, v, key, r)
	case v.Type() == reflect.TypeFor[Path]():
		decodeScalar(anchored(n, ""), v, key, r)
	case v.Type() == reflect.TypeFor[PermissionRule]():
		decodeTable(n, v, key, r)
		v.FieldByName("At").Set(reflect.ValueOf(n.origin))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		decodeTable(n, v.Elem(), key, r)
	case v.Kind() == reflect.Struct:
		decodeTable(n, v, key, r)
	case v.Kind() == reflect.Slice:
		decodeList(n, v, key, r)
	default:
		decodeScalar(n, v, key, r)
	}
}

// decodeOpaque keeps a table for another reader.
func decodeOpaque(n *node, v reflect.Value, key string, r *report) {
	if n.kind != tableNode {
		r.add(n.origin, "'%s' must be a table, not %s", key, n.describe())
		return
	}
	v.Set(reflect.ValueOf(Table{node: n, name: key}))
}

func decodeScalar(n *node, v reflect.Value, key string, r *report) {
	ok := false
	switch value := n.scalar.(type) {
	case string:
		if ok = v.Kind() == reflect.String && !strings.ContainsRune(value, 0); ok {
			v.SetString(value)
		}
	case bool:
		if ok = v.Kind() == reflect.Bool; ok {
			v.SetBool(value)
		}
	case int64:
		switch v.Kind() {
		case reflect.Int:
			if ok = int64(int32(value)) == value; ok {
				v.SetInt(value)
			}
		case reflect.Float64:
			ok = true
			v.SetFloat(float64(value))
		}
	case float64:
		if ok = v.Kind() == reflect.Float64 && value-value == 0; ok { // finite
			v.SetFloat(value)
		}
	}
	if !ok {
		r.add(n.origin, "'%s' must be %s, not %s", key, wanted(v.Type()), n.describe())
	}
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "something else"
}

// decodeDuration takes "90s" and, as the command line does, bare seconds.
func decodeDuration(n *node, v reflect.Value, key string, r *report) {
	text, _ := n.scalar.(string)
	d, err := time.ParseDuration(text)
	if seconds, ok := n.scalar.(int64); ok && seconds >= 0 && seconds < 1<<32 {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < 0 {
		r.add(n.origin, "'%s' must be a duration such as \"30s\" or \"5m\", not %s", key, n.describe())
		return
	}
	v.SetInt(int64(d))
}

func decodeEnv(n *node, v reflect.Value, key string, r *report) {
	if n.kind != tableNode {
		r.add(n.origin, "'%s' must be a table of names and values, not %s", key, n.describe())
		return
	}
	env := Env{}
	for _, e := range n.entries {
		if checkVariable(e, key, r) {
			env[e.key] = e.value.text
		}
	}
	v.Set(reflect.ValueOf(env))
}

// checkVariable reports whether an entry can be an environment variable with
// a value of its own.
func checkVariable(e entry, key string, r *report) bool {
	switch {
	case e.key == "" || strings.ContainsAny(e.key, "=\x00"):
		r.add(e.value.origin, "'%s' has a name %q that no variable can have", key, e.key)
	case e.value.kind != scalarNode || strings.ContainsRune(e.value.text, 0):
		r.add(e.value.origin, "'%s.%s' must be text, not %s", key, e.key, e.value.describe())
	default:
		return true
	}
	return false
}

func decodeList(n *node, v reflect.Value, key string, r *report) {
	if n.kind == scalarNode && v.Type().Elem().Kind() == reflect.String && key == "start_command" {
		decodeWords(n, v, key, r)
		return
	}
	if n.kind != listNode {
		r.add(n.origin, "'%s' must be a list, not %s", key, n.describe())
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		decodeValue(item, list.Index(i), fmt.Sprintf("%s[%d]", key, i), r)
	}
	v.Set(list)
}

// decodeWords splits a command line into words, or hands it to a shell whole
// where it needs one.
func decodeWords(n *node, v reflect.Value, key string, r *report) {
	text, ok := n.scalar.(string)
	if !ok || strings.ContainsRune(text, 0) {
		r.add(n.origin, "'%s' must be a command line or a list of words, not %s", key, n.describe())
		return
	}
	words, err := commandWords(text)
	if err != nil {
		r.add(n.origin, "'%s': %v", key, err)
		return
	}
	v.Set(reflect.ValueOf(words))
}
