package sources

import (
	"maps"
	"slices"
)

// Known lists the agents of the table.
func Known() []string { return slices.Sorted(maps.Keys(vendors)) }
