package workspace

import (
	"reflect"
	"strings"
)

// decodeEnvironment takes a table of variables. A value is text, or a table
// that says where it is read from: { file = "…" } or { command = […] }.
func decodeEnvironment(n *node, v reflect.Value, r *report) {
	const key = "env"
	if n.kind != tableNode {
		r.add(n.origin, "'%s' must be a table of names and values, not %s", key, n.describe())
		return
	}
	env := Environment{Values: Env{}, Secrets: map[string]Secret{}}
	for _, e := range n.entries {
		if e.value.kind == tableNode && e.key != "" && !strings.ContainsAny(e.key, "=\x00") {
			if s, ok := decodeSecret(e, r); ok {
				env.Secrets[e.key] = s
			}
			continue
		}
		if checkVariable(e, key, r) {
			env.Values[e.key] = e.value.text
		}
	}
	v.Set(reflect.ValueOf(env))
}

func decodeSecret(e entry, r *report) (Secret, bool) {
	var s Secret
	before := len(r.problems)
	where := "env." + e.key
	canonical(e.value, reflect.TypeFor[Secret](), where, r)
	decode(e.value, &s, where, r)
	if len(r.problems) == before && (s.File == "") == (len(s.Command) == 0) {
		r.add(e.value.origin, "'%s' must have either 'file' or 'command'", where)
	}
	return s, len(r.problems) == before
}

// hidden stands in the place of a value that must not be shown.
const hidden = "(hidden)"

// secretWords are parts of the names of variables whose values are not shown.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE"}

// secretName reports whether a variable of that name is likely to hold a
// secret. A file should refer to it; one that holds it all the same is not
// printed.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// explainEnvironment lists variables: references as they stand, values only
// where they are not likely to be secrets.
func explainEnvironment(n *node, key string) []Setting {
	var all []Setting
	for _, e := range n.entries {
		s := Setting{Key: key + "." + e.key, Value: e.value.plain(), Origins: []Origin{e.value.origin}}
		if e.value.kind == scalarNode {
			s.Value = e.value.text
			if secretName(e.key) {
				s.Value = hidden
			}
		}
		all = append(all, s)
	}
	return all
}
