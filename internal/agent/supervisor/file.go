package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"den/internal/base/atomicfile"
)

const (
	fileVersion = 1
	maxFile     = 64 << 20
)

// load reads what an earlier supervisor knew. Where that cannot be read, this
// one begins anew: supervision must not keep an agent from working.
func (s *Supervisor) load() memory {
	if s.options.File == "" {
		return memory{}
	}
	var m memory
	data, err := atomicfile.Read(s.options.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return memory{}
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil && m.V > fileVersion {
		err = fmt.Errorf("its version is %d, this den knows %d", m.V, fileVersion)
	}
	if err != nil {
		s.options.Log(fmt.Sprintf("supervision begins anew: read %s: %v", s.options.File, err))
		return memory{}
	}
	return m
}

// save keeps what is known.
func (s *Supervisor) save() {
	if s.options.File == "" {
		return
	}
	m := s.known
	m.V = fileVersion
	if err := atomicfile.ReplaceJSON(s.options.File, m); err != nil {
		s.options.Log(fmt.Sprintf("keep what the supervisor knows: %v", err))
	}
}
