package workspace

import (
	"embed"
	"strings"
	"text/template"

	"den/internal/base/fault"
)

//go:embed example.toml example-team.toml
var exampleFiles embed.FS

// examples are the files that Example knows, by name.
var examples = map[string]string{"": "example.toml", "shells": "example.toml", "team": "example-team.toml"}

// Example returns the den.toml of that name ("", "shells" or "team") for a
// directory. Without claude its agents run at once, with no account of any
// model.
func Example(name, dirName string, claude bool) (string, error) {
	file, ok := examples[name]
	if !ok {
		return "", fault.Hintf(fault.Errorf(fault.Usage, "no example '%s'", name), "there are shells and team")
	}
	t, err := template.ParseFS(exampleFiles, file)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = t.Execute(&text, struct {
		Name   string
		Claude bool
	}{nameFrom(dirName), claude})
	return text.String(), err
}
