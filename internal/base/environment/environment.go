// Package environment reads lists of variables as os.Environ returns them.
package environment

import "strings"

// Getter returns what os.Getenv would be in a process with these variables. Of
// two with the same name the last counts.
func Getter(environ []string) func(string) string {
	vars := map[string]string{}
	for _, kv := range environ {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	return func(key string) string { return vars[key] }
}
