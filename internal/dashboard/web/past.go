package web

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"den/internal/dashboard"
	"den/internal/eventlog"
	"den/internal/fault"
)

// of wraps a handler for one session and maps its errors to responses.
func (s *Server) of(answer func(http.ResponseWriter, *http.Request, *dashboard.Session) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		found, err := s.hub.find(r.PathValue("id"))
		if err == nil {
			err = answer(w, r, found)
		}
		if err != nil && r.Context().Err() == nil {
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

func (s *Server) timeline(w http.ResponseWriter, r *http.Request, found *dashboard.Session) error {
	t, err := s.model.Timeline(r.Context(), found.Dir)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, t)
	return nil
}

// at answers with the screen after an event (seq) or at a time (t, in
// nanoseconds since the start).
func (s *Server) at(w http.ResponseWriter, r *http.Request, found *dashboard.Session) error {
	f, err := s.frame(r, found)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newPaint(nil, f))
	return nil
}

func (s *Server) frame(r *http.Request, found *dashboard.Session) (*dashboard.Frame, error) {
	q := r.URL.Query()
	if q.Has("t") {
		t, err := number(q, "t", math.MaxInt64)
		if err != nil {
			return nil, err
		}
		return s.model.AtTime(r.Context(), found.Dir, time.Duration(t))
	}
	seq, err := number(q, "seq", math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return s.model.AtSeq(r.Context(), found.Dir, seq)
}

// step answers with the screen that comes next after a position, or, with a
// negative dir, before it.
func (s *Server) step(w http.ResponseWriter, r *http.Request, found *dashboard.Session) error {
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
	to, err := s.model.Step(r.Context(), found.Dir, eventlog.Position{Seq: seq, Elapsed: time.Duration(t)}, direction)
	if err != nil {
		return err
	}
	f, err := s.model.AtSeq(r.Context(), found.Dir, to.Seq)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, newPaint(nil, f))
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
