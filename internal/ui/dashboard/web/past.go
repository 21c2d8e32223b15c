package web

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/ui/dashboard"
)

// playable is what a page plays: a session, or a terminal of an earlier tick.
type playable struct {
	dashboard.Recording
	Name string // for downloads
}

// playing are the answers for what is played, by the end of their address.
func (s *Server) playing() map[string]func(http.ResponseWriter, *http.Request, playable) error {
	return map[string]func(http.ResponseWriter, *http.Request, playable) error{
		"timeline": s.timeline, "at": s.at, "step": s.step, "screenshot": s.screenshot, "recording": s.recording, "search": s.search,
	}
}

// of wraps a handler for one session.
func (s *Server) of(answer func(http.ResponseWriter, *http.Request, playable) error) http.HandlerFunc {
	return answered(func(w http.ResponseWriter, r *http.Request) error {
		found, err := s.hub.find(r.PathValue("id"))
		if err != nil {
			return err
		}
		return answer(w, r, playable{dashboard.Of(found.Dir), found.Name})
	})
}

// answered maps a handler's errors to responses.
func answered(answer func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := answer(w, r); err != nil && r.Context().Err() == nil {
			writeError(w, err)
		}
	}
}

// statuses of kinds of errors; others are the server's own fault.
var statuses = map[fault.Kind]int{
	fault.NotFound:    http.StatusNotFound,
	fault.Usage:       http.StatusBadRequest,
	fault.Busy:        http.StatusServiceUnavailable,
	fault.Unsupported: http.StatusNotImplemented,
	fault.Export:      http.StatusUnprocessableEntity,
	fault.Denied:      http.StatusForbidden,
	fault.NotRunning:  http.StatusServiceUnavailable,
	fault.Unreachable: http.StatusServiceUnavailable,
}

func writeError(w http.ResponseWriter, err error) {
	status, ok := statuses[fault.KindOf(err)]
	if !ok {
		status = http.StatusInternalServerError
	}
	writeRefusal(w, status, err)
}

// writeRefusal says why there is no answer.
func writeRefusal(w http.ResponseWriter, status int, err error) {
	w.Header().Del("Content-Disposition")
	writeJSON(w, status, map[string]any{"error": map[string]string{
		"kind": string(fault.KindOf(err)), "message": err.Error(), "hint": fault.HintOf(err),
	}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // Best effort: a browser that went away needs none.
}

func (s *Server) timeline(w http.ResponseWriter, r *http.Request, found playable) error {
	t, err := s.model.Timeline(r.Context(), found.Recording)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, t)
	return nil
}

// at answers with the screen after an event (seq) or at a time (t, in
// nanoseconds since the start).
func (s *Server) at(w http.ResponseWriter, r *http.Request, found playable) error {
	f, err := s.frame(r, found)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newPaint(nil, f))
	return nil
}

func (s *Server) frame(r *http.Request, found playable) (*dashboard.Frame, error) {
	q := r.URL.Query()
	if q.Has("t") {
		t, err := number(q, "t", math.MaxInt64)
		if err != nil {
			return nil, err
		}
		return s.model.AtTime(r.Context(), found.Recording, time.Duration(t))
	}
	seq, err := number(q, "seq", math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return s.model.AtSeq(r.Context(), found.Recording, seq)
}

// step answers with the screen that comes next after a position, or, with a
// negative dir, before it.
func (s *Server) step(w http.ResponseWriter, r *http.Request, found playable) error {
	q := r.URL.Query()
	seq, err := number(q, "seq", math.MaxUint64)
	if err != nil {
		return err
	}
	t, err := number(q, "t", math.MaxInt64)
	if err != nil {
		return err
	}
	direction := 1
	if q.Get("dir") == "-1" {
		direction = -1
	}
	to, err := s.model.Step(r.Context(), found.Recording, eventlog.Position{Seq: seq, Elapsed: time.Duration(t)}, direction)
	if err != nil {
		return err
	}
	f, err := s.model.AtSeq(r.Context(), found.Recording, to.Seq)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newPaint(nil, f))
	return nil
}

// search answers with the moments at which a line with the words (q) came to be
// shown, in the last stretch of the log that begins before an event (before).
func (s *Server) search(w http.ResponseWriter, r *http.Request, found playable) error {
	q := r.URL.Query()
	before, err := number(q, "before", math.MaxUint64)
	if err != nil {
		return err
	}
	hits, err := s.model.Search(r.Context(), found.Recording, q.Get("q"), before)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, hits)
	return nil
}

// number parses a parameter; if it is missing the result is largest.
func number(q url.Values, name string, largest uint64) (uint64, error) {
	if !q.Has(name) {
		return largest, nil
	}
	n, err := strconv.ParseUint(q.Get(name), 10, 64)
	if err != nil || n > largest {
		return 0, fault.Errorf(fault.Usage, "%s=%s is not a number that counts here", name, q.Get(name))
	}
	return n, nil
}
