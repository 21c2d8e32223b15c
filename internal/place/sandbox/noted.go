package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
)

// maxNoted bounds the denials that are kept: the oldest go.
const maxNoted = 20

func notedFile(private string) string { return filepath.Join(private, "denied.json") }

// noting is held by one at a time: what is new is told once. It guards lives.
var noting sync.Mutex

// lives counts, by their directories, the beginnings and ends of agents' starts
// in this process: it is odd while a start is under way.
var lives = map[string]int{}

// Life is one life of an agent; see Living.
type Life int

// Living tells the agent's life of now from those before, whose words are not
// its own. There is none while it is started: it still shows what the one
// before did.
func (p Policy) Living() (Life, bool) {
	noting.Lock()
	defer noting.Unlock()
	return Life(lives[p.Private]), lives[p.Private]%2 == 0
}

// Begin is called when a start begins, and Begun when its session is there:
// what was refused before is forgotten.
func (p Policy) Begin() error { return p.forget(1) }

// Begun is the end of Begin.
func (p Policy) Begun() error { return p.forget(0) }

func (p Policy) forget(odd int) error {
	noting.Lock()
	defer noting.Unlock()
	if lives[p.Private]++; lives[p.Private]%2 != odd { // a start that failed was not ended
		lives[p.Private]++
	}
	if err := os.RemoveAll(notedFile(p.Private)); err != nil {
		return fault.Errorf(fault.Storage, "sandbox of agent '%s': forget what it refused: %w", p.Agent, err)
	}
	return nil
}

// Note keeps denials of a life for whoever asks, and returns those that are new.
func (p Policy) Note(life Life, denials []string) ([]string, error) {
	noting.Lock()
	defer noting.Unlock()
	if len(denials) == 0 || lives[p.Private] != int(life) {
		return nil, nil
	}
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
