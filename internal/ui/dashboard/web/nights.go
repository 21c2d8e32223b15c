package web

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"den/internal/base/fault"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
)

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
	fleet.Poll(ctx, fleet.Every, nil, h.lookAtNights, func(raw json.RawMessage, _ error) { h.show(&h.kernels, raw) })
}

// lookAtNights is nil where there are no instances.
func (h *hub) lookAtNights(ctx context.Context) (json.RawMessage, error) {
	agents, problem := h.nights.Agents(ctx, time.Now())
	if len(agents) == 0 && problem == "" {
		return nil, nil
	}
	return encode(kernels{Agents: append([]nights.Agent{}, agents...), Problem: problem}), nil
}

func (s *Server) routeNights(mux *http.ServeMux) {
	const one = "GET /api/kernel/{name}/ticks/{tick}"
	mux.HandleFunc("GET /api/kernel/{name}/ticks", answered(s.ticks))
	mux.HandleFunc(one, answered(s.tick))
	mux.HandleFunc(one+"/transcript", answered(s.transcript))
	s.routePlaying(mux, one+"/terminals/{terminal}/", s.ofTerminal)
}

// ticks answers with a page of ticks, the newest first: n of them, before a
// number.
func (s *Server) ticks(r *http.Request) (any, error) {
	before, err := number(r, "before", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", firstPage, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return s.nights.Ticks(r.PathValue("name"), int(before), int(n))
}

// tick answers with what belongs to one tick.
func (s *Server) tick(r *http.Request) (any, error) {
	n, err := tickOf(r)
	if err != nil {
		return nil, err
	}
	return s.nights.Tick(r.PathValue("name"), n)
}

// transcript answers with a part of a tick's transcript, from an entry on.
func (s *Server) transcript(r *http.Request) (any, error) {
	n, err := tickOf(r)
	if err != nil {
		return nil, err
	}
	from, err := number(r, "from", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return s.nights.Transcript(r.PathValue("name"), n, int(from))
}

// ofTerminal finds one terminal of a tick.
func (s *Server) ofTerminal(r *http.Request) (playable, error) {
	n, err := tickOf(r)
	if err != nil {
		return playable{}, err
	}
	rec, title, err := s.nights.Terminal(r.PathValue("name"), n, r.PathValue("terminal"))
	return playable{rec, title}, err
}

func tickOf(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("tick"))
	if err != nil || n < 1 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not the number of a tick", r.PathValue("tick"))
	}
	return n, nil
}
