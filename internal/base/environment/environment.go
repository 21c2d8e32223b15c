// Package environment tells what a process was given: its variables, and its
// user.
package environment

import (
	"os"
	"os/user"
	"strconv"
	"strings"
)

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

// User names the user of this process, for audit logs.
func User() string {
	u, err := user.Current()
	if err != nil {
		return "user " + strconv.Itoa(os.Getuid())
	}
	return u.Username
}
