package workspace

import (
	_ "embed"
	"slices"
	"sync"
)

//go:embed presets.toml
var presetsText string

// builtin is presets.toml as nodes. Whoever changes one of them clones it
// first. It is den's own file: that it cannot be read is a bug, and panics.
var builtin = sync.OnceValue(func() *node {
	n, err := parseTOML("presets.toml", presetsText)
	if err != nil {
		panic(err)
	}
	n.stamp(Origin{})
	for _, preset := range n.get("providers").entries {
		preset.value.stamp(Origin{Preset: preset.key})
	}
	return n
})

// Presets returns the names of the built-in presets, sorted.
func Presets() []string {
	var names []string
	for _, e := range builtin().get("providers").entries {
		names = append(names, e.key)
	}
	slices.Sort(names)
	return names
}
