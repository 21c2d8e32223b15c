// Package environment tells what a process was given: its variables, and its
// user.
package environment

import (
	"os"
	"os/user"
	"slices"
	"strconv"
)

// Getter returns what os.Getenv would be in a process with these variables. Of
// two with the same name the last counts.
func Getter(environ []string) func(string) string {
	return func(key string) string { return Get(environ, key) }
}

// Get returns the value of a variable, "" where there is none.
func Get(environ []string, key string) string {
	for _, kv := range slices.Backward(environ) {
		if len(kv) > len(key) && kv[:len(key)] == key && kv[len(key)] == '=' {
			return kv[len(key)+1:]
		}
		if kv == key {
			return ""
		}
	}
	return ""
}

// User names the user of this process, for audit logs.
func User() string {
	u, err := user.Current()
	if err != nil {
		return "user " + strconv.Itoa(os.Getuid())
	}
	return u.Username
}
