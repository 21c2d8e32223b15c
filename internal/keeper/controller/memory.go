package controller

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/atomicfile"
	"den/internal/base/statefile"
)

// memory is what a keeper knows of one agent and must not forget when it is
// replaced.
type memory struct {
	// Name is the qualified name that the agent last had. Its key stays when it
	// moves; see Keys.
	Name         string    `json:"name,omitempty"`
	Order        string    `json:"order,omitempty"` // the user's last word: start, stop, suspend
	RestartAsked bool      `json:"restart_asked,omitempty"`
	Up           bool      `json:"up,omitempty"` // it was seen running and nobody stopped it
	Started      time.Time `json:"started,omitzero"`
	Since        time.Time `json:"since,omitzero"` // of the actual state
	Left         bool      `json:"left,omitempty"` // it ended, and what it left behind was not ended yet
	Restarts     int       `json:"restarts,omitempty"`
	ExitCode     *int      `json:"exit_code,omitempty"`
	// Finished is the identity of the agent whose last end was final by its
	// restart policy, or "".
	Finished string `json:"finished,omitempty"`

	LastFailure      string      `json:"last_failure,omitempty"`    // in short
	LastOutput       string      `json:"last_output,omitempty"`     // the last lines of what failed, or ""
	FailedAs         string      `json:"failed_as,omitempty"`       // the identity of what failed
	FailedByStall    bool        `json:"failed_by_stall,omitempty"` // the last time
	Failures         int         `json:"failures,omitempty"`        // in a row
	Failed           []time.Time `json:"failed,omitempty"`          // within the window
	NotBefore        time.Time   `json:"not_before,omitzero"`
	QuarantinedUntil time.Time   `json:"quarantined_until,omitzero"`
	Quarantines      int         `json:"quarantines,omitempty"` // in a row

	PrepareFailures int `json:"prepare_failures,omitempty"` // in a row, of making its place ready

	Drain   *drainMemory `json:"drain,omitempty"`
	Stalled bool         `json:"stalled,omitempty"` // was told

	// Active is the last sign of life that was seen, for providers that
	// cannot tell.
	Active time.Time `json:"active,omitzero"`
}

type drainMemory struct {
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

// Trial reports whether the next start is the one try after a quarantine.
func (m memory) Trial() bool { return m.Quarantines > 0 && !m.QuarantinedUntil.IsZero() }

// silentSince is the last time that the agent is known to have done something.
func (m memory) silentSince(lastWrite time.Time) time.Time {
	latest := m.Started
	for _, t := range []time.Time{lastWrite, m.Active} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// failed notes a failure: a start that did not work, or an end that nobody
// asked for. It reports whether the agent is in quarantine now.
func (m *memory) failed(what, identity string, p Policy, now time.Time, jitter float64) bool {
	m.LastFailure, _, _ = strings.Cut(what, "\n")
	m.LastOutput = ""
	m.FailedAs, m.FailedByStall = identity, false
	m.Failures++
	m.Failed = slices.DeleteFunc(m.Failed, func(t time.Time) bool { return now.Sub(t) > p.Window })
	m.Failed = append(m.Failed, now)
	if m.Trial() || len(m.Failed) >= p.MaxRestarts {
		m.QuarantinedUntil = now.Add(p.quarantine(m.Quarantines))
		m.Quarantines++
		m.Failed, m.NotBefore = nil, time.Time{}
		return true
	}
	m.NotBefore = now.Add(p.delay(m.Failures, jitter))
	return false
}

// The bounds of what is kept of a failed agent's text for who waits for it. All
// that is kept is in the journal.
const (
	outputLines = 10
	outputBytes = 2000
)

// lastLines returns the end of a text that has something in it.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	lines = lines[max(0, len(lines)-outputLines):]
	text = strings.Join(lines, "\n")
	if over := len(text) - outputBytes; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// notPrepared notes that the agent's place could not be made ready. It is no
// failure of the agent, and has a count and a pause of its own.
func (m *memory) notPrepared(what string, p Policy, now time.Time, jitter float64) {
	m.LastFailure, _, _ = strings.Cut(what, "\n")
	m.LastOutput = ""
	m.PrepareFailures++
	m.NotBefore = now.Add(p.delay(m.PrepareFailures+1, jitter)) // the first is not tried again at once: nothing has changed
}

// forgive forgets all failures.
func (m *memory) forgive() {
	m.Failures, m.Failed, m.Quarantines, m.LastFailure, m.LastOutput, m.FailedAs, m.FailedByStall = 0, nil, 0, "", "", "", false
	m.NotBefore, m.QuarantinedUntil, m.PrepareFailures = time.Time{}, time.Time{}, 0
}

// finish notes an end that is final by the agent's restart policy.
func (m *memory) finish(identity string, code *int) {
	m.forgive()
	m.Finished, m.ExitCode = identity, code
}

// moved forgets what was about its session: the agent has another one since
// then, and nobody kept it meanwhile.
func (m *memory) moved(name string) {
	m.begunAnew()
	m.Name, m.Up, m.Left, m.Started = name, false, false, time.Time{}
}

// begunAnew forgets what was about the run before.
func (m *memory) begunAnew() { m.RestartAsked, m.Drain, m.Stalled = false, nil, false }

// stateVersion is that of the state file. A newer one is refused.
const stateVersion = 1

type stateFile struct {
	V         int               `json:"v"`
	Suspended bool              `json:"suspended,omitempty"` // the whole workspace
	Agents    map[string]memory `json:"agents"`
}

// state keeps the memories on disk. The file is written whole, so changes that
// come while it is written share the next write: many agents that start at the
// same time cost few writes.
type state struct {
	path string

	mu      sync.Mutex // guards the fields below
	file    stateFile
	encoded map[string][]byte // of agents whose memory has not changed since; of a thousand, one has
	writing bool              // somebody writes; their write may not have the newest change
	next    *stateWrite       // the write that will have it, if somebody waits for one
}

// stateWrite is one write that several changes wait for.
type stateWrite struct {
	done chan struct{} // closed when it is over
	err  error         // valid then
}

func openState(path string) (*state, error) {
	file, _, err := statefile.Load[stateFile](path, stateVersion, statefile.Large)
	if err != nil {
		return nil, statefile.Advise(fmt.Errorf("read the keeper's state: %w", err), "move it away: agents that run are found without it, failures and suspensions are forgotten")
	}
	s := &state{path: path, file: file, encoded: map[string][]byte{}}
	if s.file.Agents == nil {
		s.file.Agents = map[string]memory{}
	}
	for key, m := range s.file.Agents {
		if m.Name == "" { // written when names were keys
			m.Name = key
			s.file.Agents[key] = m
		}
	}
	return s, nil
}

func (s *state) agent(key string) memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Agents[key]
}

// names returns the name that each key last had.
func (s *state) names() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{}
	for key, m := range s.file.Agents {
		names[key] = m.Name
	}
	return names
}

// up returns the names of the agents that ran when they were last seen, by key.
func (s *state) up() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{}
	for key, m := range s.file.Agents {
		if m.Up {
			names[key] = m.Name
		}
	}
	return names
}

// note changes one agent's memory for the next write: a name that is lost is
// found again by the rule that gave the key.
func (s *state) note(key string, m memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.Agents[key] = m
	delete(s.encoded, key)
}

// keep replaces one agent's memory, nil forgets it. It returns when that is on
// disk.
func (s *state) keep(key string, m *memory) error {
	return s.change(func() {
		if m == nil {
			delete(s.file.Agents, key)
		} else {
			s.file.Agents[key] = *m
		}
		delete(s.encoded, key)
	})
}

func (s *state) suspended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Suspended
}

func (s *state) suspend(yes bool) error {
	return s.change(func() { s.file.Suspended = yes })
}

// change changes the state and returns when a write that has the change is
// over.
func (s *state) change(change func()) error {
	s.mu.Lock()
	change()
	if s.next == nil {
		s.next = &stateWrite{done: make(chan struct{})}
	}
	w := s.next
	if s.writing { // who writes now goes on with the next
		s.mu.Unlock()
		<-w.done
		return w.err
	}
	s.writing = true
	s.mu.Unlock()
	for s.writeNext() {
	}
	<-w.done
	return w.err
}

// writeNext writes the state for those who wait, and reports whether somebody
// came meanwhile.
func (s *state) writeNext() (more bool) {
	s.mu.Lock()
	w := s.next
	s.next = nil
	data, err := s.encodeLocked()
	s.mu.Unlock()
	if err == nil {
		err = atomicfile.Replace(s.path, append(data, '\n'))
	}
	w.err = err
	close(w.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = s.next != nil
	return s.writing
}

// encodeLocked returns the file's content. Only what changed is encoded: the
// cost of one agent's change must not grow with the number of agents.
func (s *state) encodeLocked() ([]byte, error) {
	head, err := json.Marshal(stateFile{V: stateVersion, Suspended: s.file.Suspended, Agents: map[string]memory{}})
	if err != nil {
		return nil, err
	}
	data := bytes.TrimSuffix(head, []byte("}}")) // open for the agents
	for i, key := range slices.Sorted(maps.Keys(s.file.Agents)) {
		one, ok := s.encoded[key]
		if !ok {
			if one, err = encodeAgent(key, s.file.Agents[key]); err != nil {
				return nil, err
			}
			s.encoded[key] = one
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, one...)
	}
	return append(data, "}}"...), nil
}

// encodeAgent returns one agent's part of the file: "KEY":{...}.
func encodeAgent(key string, m memory) ([]byte, error) {
	one, err := json.Marshal(map[string]memory{key: m})
	if err != nil {
		return nil, err
	}
	return one[1 : len(one)-1], nil // without the braces around
}

// Keys returns the key of each agent, by its qualified name. A key is what an
// agent is known by in the state, in its queue and in its events. It is given
// once and stays: a qualified name has the agent's directory in it, and an
// agent that moves keeps its orders and its nudges.
func (c *Controller) Keys(names []string) map[string]string {
	return assignKeys(c.state.names(), names)
}

// LastUp returns the names of the agents that ran when a keeper last saw them,
// by key. known is false where no agent is remembered at all.
func (c *Controller) LastUp() (up map[string]string, known bool) {
	return c.state.up(), len(c.state.names()) > 0
}

// assignKeys is the rule: kept has the name that each key last had. A name that
// is kept has its key. An agent that is called the same as exactly one that is
// gone, but for the directory, is that one, moved. Any other is new, and its
// name is its key, unless one that moved away has that.
func assignKeys(kept map[string]string, names []string) map[string]string {
	keyOf := map[string]string{}
	for key, name := range kept {
		keyOf[name] = key
	}
	keys := map[string]string{}
	var rest []string // names that are not kept
	for _, name := range names {
		if key, ok := keyOf[name]; ok {
			keys[name] = key
			delete(keyOf, name)
		} else {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	gone, come := byBase(slices.Collect(maps.Keys(keyOf))), byBase(rest)
	for _, name := range rest {
		base := path.Base(name)
		if len(gone[base]) == 1 && len(come[base]) == 1 {
			keys[name] = keyOf[gone[base][0]]
			continue
		}
		keys[name] = freeKey(name, kept)
	}
	return keys
}

// byBase groups names by their last parts.
func byBase(names []string) map[string][]string {
	groups := map[string][]string{}
	for _, name := range names {
		groups[path.Base(name)] = append(groups[path.Base(name)], name)
	}
	return groups
}

// freeKey is name, or name with a number behind a character that no name has.
func freeKey(name string, kept map[string]string) string {
	key := name
	for n := 2; ; n++ {
		if _, taken := kept[key]; !taken {
			return key
		}
		key = fmt.Sprintf("%s~%d", name, n)
	}
}
