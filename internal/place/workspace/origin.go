package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
)

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
