package web

import (
	"math"
	"net/http"

	"den/internal/agent/harness/turns"
	"den/internal/base/fault"
	"den/internal/keeper"
)

const turnsPage = 200 // entries that a page gets at once

// turnsPart is a part of an agent's conversation.
type turnsPart struct {
	turns.Page
	State string `json:"state"` // differs when there is something new
}

// keepMinds notes where the harnesses of agents keep their files. Those that a
// keeper does not tell of any more stay: what was said is still there.
func (h *hub) keepMinds(agents []keeper.AgentStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range agents {
		if a.Mind != "" {
			h.minds[a.Name] = h.place.Mind(a.Mind)
		}
	}
}

// mind is where the harness of an agent keeps its files. Requests never name a
// path.
func (h *hub) mind(agent string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dir, ok := h.minds[agent]
	if !ok {
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no conversation of '%s' is kept", agent), "den keeps those of agents that it drives by their protocol; of others it has the terminal")
	}
	return dir, nil
}

// turns answers with the newest entries of a conversation, or with those before
// or after one.
func (s *Server) turns(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	before, err := number(q, "before", math.MaxInt64)
	if err != nil {
		return err
	}
	if before == math.MaxInt64 {
		before = 0
	}
	var after uint64
	if q.Has("after") {
		if after, err = number(q, "after", math.MaxInt64); err != nil {
			return err
		}
	}
	dir, err := s.hub.mind(q.Get("agent"))
	if err != nil {
		return err
	}
	out := turnsPart{Page: turns.Page{Entries: []turns.Entry{}}}
	if out.State, err = turns.State(dir); err != nil {
		return err
	}
	if before > 0 || out.State == "" || out.State != q.Get("state") {
		if out.Page, err = turns.Read(dir, after, before, turnsPage); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
