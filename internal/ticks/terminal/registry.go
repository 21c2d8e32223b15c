package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/fault"
	"den/internal/base/statefile"
)

// registryFile lists the terminals, in the data repository for the agent and in
// the state directory for the next tick.
const registryFile = "registry.json"

// maxRegistry bounds what is read.
const maxRegistry = 1 << 20

// entry is what a registry has of a terminal.
type entry struct {
	Command        string    `json:"command"`
	CurrentCommand string    `json:"current_command"`
	Created        time.Time `json:"created"`
	Status         string    `json:"status"`
	LastActivity   time.Time `json:"last_activity"`

	Label   string `json:"label,omitempty"`
	Session string `json:"session"` // den's id of it
	Tick    int    `json:"tick"`    // in which it was opened
	Hold    bool   `json:"hold,omitempty"`
	// Seen is the event up to which the agent has seen its output.
	Seen uint64 `json:"seen"`
}

// registry keeps the list of terminals on disk.
type registry struct {
	state string // the directory that is not wiped; or "": none
	files *files

	mu   sync.Mutex // guards last; before Set.mu
	last string     // as it was written
}

func openRegistry(state string, f *files) (*registry, error) {
	if state != "" {
		if err := os.MkdirAll(state, 0o700); err != nil {
			return nil, fault.Errorf(fault.KindOf(err), "make the state directory of terminals: %w", err)
		}
	}
	return &registry{state: state, files: f}, nil
}

// load returns the terminals of earlier ticks, by number. A file that cannot be
// understood is an error that names it: its terminals are not forgotten in
// silence.
func (r *registry) load() (map[int]entry, error) {
	if r.state == "" {
		return nil, nil
	}
	path := filepath.Join(r.state, registryFile)
	raw, err := atomicfile.Read(path, maxRegistry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the list of terminals: %w", err)
	}
	known, err := parseRegistry(raw)
	if err != nil {
		return nil, fault.Errorf(fault.Storage, "read the list of terminals: %w", statefile.PutAside(path, err, time.Now()))
	}
	return known, nil
}

// parseRegistry reads a list of terminals by number.
func parseRegistry(raw []byte) (map[int]entry, error) {
	var named map[string]entry
	if err := json.Unmarshal(raw, &named); err != nil {
		return nil, err
	}
	known := map[int]entry{}
	for name, e := range named {
		digits, ok := strings.CutPrefix(name, "tty_")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 || n >= Max || strconv.Itoa(n) != digits {
			return nil, fmt.Errorf("%q is no terminal", name)
		}
		known[n] = e
	}
	return known, nil
}

// save writes the list of terminals, unless it is the one that was written
// last. The one that the next tick needs comes first.
func (r *registry) save(list func() map[string]entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, err := json.MarshalIndent(list(), "", "  ")
	if err != nil {
		return err
	}
	if string(raw) == r.last {
		return nil
	}
	data := append(raw, '\n')
	var errs []error
	if r.state != "" {
		errs = append(errs, atomicfile.Replace(filepath.Join(r.state, registryFile), data))
	}
	errs = append(errs, atomicfile.ReplaceIn(r.files.root, sessionsDir+"/"+registryFile, data))
	if err := errors.Join(errs...); err != nil {
		return fault.Errorf(fault.KindOf(err), "write the list of terminals: %w", err)
	}
	r.last = string(raw)
	return nil
}

// saveRegistry writes the list of terminals as they are.
func (s *Set) saveRegistry() {
	if err := s.known.save(s.entries); err != nil {
		s.config.Warn(err)
	}
}

func (s *Set) entries() map[string]entry {
	all := map[string]entry{}
	for _, t := range s.open() {
		all["tty_"+strconv.Itoa(t.number)] = t.entry()
	}
	return all
}

func (t *tty) entry() entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return entry{
		Command: t.command, CurrentCommand: t.program, Created: t.created.Truncate(time.Second), Status: t.wordLocked(),
		LastActivity: t.active.Truncate(time.Second), Label: t.label, Session: t.session.Dir.ID, Tick: t.tick, Hold: t.hold, Seen: t.seen,
	}
}
