package web

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"den/internal/base/fault"
	"den/internal/ui/dashboard/nights"
)

// lookEvery is between two looks at the agents that sleep and wake.
const lookEvery = 2 * time.Second

// firstPage is how many ticks a page gets that does not say how many it wants.
const firstPage = 200

// kernels is what a page shows of the agents that sleep and wake.
type kernels struct {
	Agents  []nights.Agent `json:"agents"`
	Problem string         `json:"problem,omitempty"` // why some may be missing
}

// watchNights keeps the agents that sleep and wake up to date until ctx ends.
func (h *hub) watchNights(ctx context.Context) {
	if h.nights == nil {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var shown string
	for {
		if raw := h.lookAtNights(ctx); string(raw) != shown && ctx.Err() == nil {
			shown = string(raw)
			h.mu.Lock()
			h.kernels = raw
			h.changedLocked()
			h.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// lookAtNights is nil where there are no instances.
func (h *hub) lookAtNights(ctx context.Context) json.RawMessage {
	agents, problem := h.nights.Agents(ctx, time.Now())
	if len(agents) == 0 && problem == "" {
		return nil
	}
	raw, err := json.Marshal(kernels{Agents: append([]nights.Agent{}, agents...), Problem: problem})
	if err != nil {
		panic("web: agents that sleep and wake are no JSON: " + err.Error())
	}
	return raw
}

func (s *Server) routeNights(mux *http.ServeMux) {
	const one = "GET /api/kernel/{name}/ticks/{tick}"
	mux.HandleFunc("GET /api/kernel/{name}/ticks", answered(s.ticks))
	mux.HandleFunc(one, answered(s.tick))
	mux.HandleFunc(one+"/transcript", answered(s.transcript))
	for what, answer := range s.playing() {
		mux.HandleFunc(one+"/terminals/{terminal}/"+what, s.ofTerminal(answer))
	}
}

// ticks answers with a page of ticks, the newest first: n of them, before a
// number.
func (s *Server) ticks(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	before, n := uint64(0), uint64(firstPage)
	var err error
	if q.Has("before") {
		if before, err = number(q, "before", math.MaxInt32); err != nil {
			return err
		}
	}
	if q.Has("n") {
		if n, err = number(q, "n", math.MaxInt32); err != nil {
			return err
		}
	}
	page, err := s.nights.Ticks(r.PathValue("name"), int(before), int(n))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

// tick answers with what belongs to one tick.
func (s *Server) tick(w http.ResponseWriter, r *http.Request) error {
	n, err := tickOf(r)
	if err != nil {
		return err
	}
	t, err := s.nights.Tick(r.PathValue("name"), n)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, t)
	return nil
}

// transcript answers with a part of a tick's transcript, from an entry on.
func (s *Server) transcript(w http.ResponseWriter, r *http.Request) error {
	n, err := tickOf(r)
	if err != nil {
		return err
	}
	from := uint64(0)
	if q := r.URL.Query(); q.Has("from") {
		if from, err = number(q, "from", math.MaxInt32); err != nil {
			return err
		}
	}
	part, err := s.nights.Transcript(r.PathValue("name"), n, int(from))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, part)
	return nil
}

// ofTerminal wraps a handler for one terminal of a tick.
func (s *Server) ofTerminal(answer func(http.ResponseWriter, *http.Request, playable) error) http.HandlerFunc {
	return answered(func(w http.ResponseWriter, r *http.Request) error {
		n, err := tickOf(r)
		if err != nil {
			return err
		}
		rec, title, err := s.nights.Terminal(r.PathValue("name"), n, r.PathValue("terminal"))
		if err != nil {
			return err
		}
		return answer(w, r, playable{rec, title})
	})
}

func tickOf(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("tick"))
	if err != nil || n < 1 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not the number of a tick", r.PathValue("tick"))
	}
	return n, nil
}
