package workspace

import (
	_ "embed"
	"strings"
)

//go:embed example.toml
var exampleText string

// Example returns a den.toml for a directory of that name. Its agents are
// shells: they run at once, with no account of any model.
func Example(dirName string) string {
	return strings.Replace(exampleText, "{{.Name}}", nameFrom(dirName), 1)
}
