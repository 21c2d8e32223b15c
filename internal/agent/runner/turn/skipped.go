package turn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxKinds bounds the kinds that are counted apart: the rest is counted as one.
const maxKinds = 100

// Skipped counts messages that a driver does not know, and logs the first of
// each kind.
type Skipped struct {
	Log func(string)

	mu    sync.Mutex // guards count
	count map[string]int
}

// Add counts one message.
func (s *Skipped) Add(kind string) {
	s.mu.Lock()
	if s.count == nil {
		s.count = map[string]int{}
	}
	if s.count[kind] == 0 && len(s.count) >= maxKinds {
		kind = "others"
	}
	s.count[kind]++
	first := s.count[kind] == 1
	s.mu.Unlock()
	if first {
		s.Log(fmt.Sprintf("skipped a message of the unknown kind %q", kind))
	}
}

// Malformed counts a message that cannot be read.
func (s *Skipped) Malformed(err error) { s.Add("malformed: " + err.Error()) }

// Total logs how many were skipped, if any were.
func (s *Skipped) Total() {
	s.mu.Lock()
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(s.count)) {
		all = append(all, fmt.Sprintf("%q %d", kind, s.count[kind]))
	}
	s.mu.Unlock()
	if len(all) > 0 {
		s.Log("messages of unknown kinds: " + strings.Join(all, ", "))
	}
}
