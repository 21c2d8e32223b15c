package workspace

import (
	"embed"
	"slices"
	"strings"
	"text/template"

	"den/internal/base/fault"
	"den/internal/base/lazy"
)

//go:embed presets.toml
var presetsText string

// builtin returns presets.toml as nodes. Callers clone a node before they change
// it. The file is part of den, so a mistake in it panics.
var builtin = lazy.Value[*node]{Make: func() *node {
	n, err := parseTOML("presets.toml", presetsText)
	if err != nil {
		panic(err)
	}
	n.stamp(Origin{})
	for _, preset := range n.get("presets").entries {
		preset.value.stamp(Origin{Preset: preset.key})
	}
	return n
}}

// Presets returns the names of the built-in presets, sorted.
func Presets() []string {
	var names []string
	for _, e := range builtin.Get().get("presets").entries {
		names = append(names, e.key)
	}
	slices.Sort(names)
	return names
}

//go:embed example.toml example-team.toml
var exampleFiles embed.FS

// examples are the files that Example knows, by name.
func examples() map[string]string {
	return map[string]string{"": "example.toml", "shells": "example.toml", "team": "example-team.toml"}
}

// Example returns the den.toml of that name ("", "shells" or "team") for a
// directory. Without claude its agents run at once, with no account of any
// model.
func Example(name, dirName string, claude bool) (string, error) {
	file, ok := examples()[name]
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
