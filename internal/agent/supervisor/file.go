package supervisor

import (
	"fmt"

	"den/internal/base/statefile"
)

const fileVersion = 1

// load reads what an earlier supervisor knew. Where that cannot be read, this
// one begins anew: supervision must not keep an agent from working.
func (s *Supervisor) load() memory {
	if s.options.File == "" {
		return memory{}
	}
	m, _, err := statefile.Load[memory](s.options.File, fileVersion, statefile.Large)
	if err != nil {
		s.options.Log(fmt.Sprintf("supervision begins anew: %v", err))
	}
	return m
}

// save keeps what is known.
func (s *Supervisor) save() {
	if s.options.File == "" {
		return
	}
	if err := statefile.Replace(s.options.File, fileVersion, s.known); err != nil {
		s.options.Log(fmt.Sprintf("keep what the supervisor knows: %v", err))
	}
}
