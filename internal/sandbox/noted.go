package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"den/internal/atomicfile"
)

// maxNoted bounds the denials that are kept: the oldest go.
const maxNoted = 20

func notedFile(private string) string { return filepath.Join(private, "denied.json") }

var noting sync.Mutex // one at a time: what is new is told once

// Note keeps denials for whoever asks, and returns those that are new.
func (p Policy) Note(denials []string) ([]string, error) {
	if len(denials) == 0 {
		return nil, nil
	}
	noting.Lock()
	defer noting.Unlock()
	known := Noted(p.Private)
	fresh := slices.DeleteFunc(slices.Clone(denials), func(d string) bool { return slices.Contains(known, d) })
	if len(fresh) == 0 {
		return nil, nil
	}
	known = append(known, fresh...)
	return fresh, atomicfile.ReplaceJSON(notedFile(p.Private), known[max(0, len(known)-maxNoted):])
}

// Noted returns the denials that were kept for an agent since its start.
func Noted(private string) []string {
	var all []string
	if data, err := os.ReadFile(notedFile(private)); err == nil {
		_ = json.Unmarshal(data, &all) // Best effort: a note that cannot be read is none.
	}
	return all
}
