package workspace

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// A Table is a part of the file that the workspace hands over undecoded: the
// session provider that it is for knows what may be in it.
type Table struct {
	node *node  // or nil: nobody wrote one
	name string // for messages
}

// A Path is a path in a Table: relative ones are below the directory of the
// file that names them.
type Path string

// IsEmpty reports whether nobody wrote anything.
func (t Table) IsEmpty() bool { return t.node == nil || len(t.node.entries) == 0 }

// Decode puts the table into the struct that v points to, by its `key` tags.
// It returns what does not fit, and all keys that v has no field for.
func (t Table) Decode(v any) Problems {
	if t.node == nil {
		return nil
	}
	var r report
	n := t.node.clone()
	canonical(n, reflect.TypeOf(v).Elem(), t.name, &r)
	decode(n, v, t.name, &r)
	return r.problems
}

// Problem is one at a key of the table, or at the table where nobody wrote
// that key.
func (t Table) Problem(key, format string, args ...any) Problem {
	at := Origin{}
	if n := t.node.get(key); n != nil {
		at = n.origin
	} else if t.node != nil {
		at = t.node.origin
	}
	return Problem{At: at, Message: fmt.Sprintf(format, args...)}
}

// OneOf returns a problem unless the key's value is one of the allowed words.
func (t Table) OneOf(key, value string, allowed ...string) Problems {
	message := notOneOf(t.name+"."+key, value, allowed)
	if message == "" {
		return nil
	}
	return Problems{t.Problem(key, "%s", message)}
}

// MarshalJSON writes the table as the file has it.
func (t Table) MarshalJSON() ([]byte, error) {
	if t.node == nil {
		return []byte("null"), nil
	}
	return json.Marshal(t.node.plain())
}

// ProviderTables are the parts of the file that session providers decode. They
// stand in [session], for all sessions, and in each agent, for its own.
type ProviderTables struct {
	Container  Table `key:"container"`
	Kubernetes Table `key:"kubernetes"`
}

// Of returns the table of one kind of provider; most have none.
func (t ProviderTables) Of(kind string) Table {
	switch kind {
	case "container":
		return t.Container
	case "kubernetes":
		return t.Kubernetes
	}
	return Table{}
}
