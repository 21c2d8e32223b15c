package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/eventlog"
	"den/internal/screen/render"
	"den/internal/screen/render/film"
	"den/internal/ui/dashboard"
)

// playable is what a page plays: a session, or a terminal of an earlier tick.
type playable struct {
	dashboard.Recording
	Name string // for downloads
}

// routePlaying serves what is played, which is found by a request.
func (s *Server) routePlaying(mux *http.ServeMux, at string, find func(*http.Request) (playable, error)) {
	for what, answer := range map[string]func(*http.Request, playable) (any, error){
		"timeline": s.timeline, "at": s.at, "step": s.step, "search": s.search,
	} {
		mux.HandleFunc(at+what, answered(func(r *http.Request) (any, error) {
			found, err := find(r)
			if err != nil {
				return nil, err
			}
			return answer(r, found)
		}))
	}
	for what, answer := range map[string]func(http.ResponseWriter, *http.Request, playable) error{"screenshot": s.screenshot, "recording": s.recording} {
		mux.HandleFunc(at+what, func(w http.ResponseWriter, r *http.Request) {
			found, err := find(r)
			if err == nil {
				err = answer(w, r, found)
			}
			writeError(w, r, err)
		})
	}
}

// ofSession finds a session.
func (s *Server) ofSession(r *http.Request) (playable, error) {
	found, err := s.hub.find(r.PathValue("id"))
	if err != nil {
		return playable{}, err
	}
	return playable{dashboard.Of(found.Dir), found.Name}, nil
}

// answered sends what a handler returns.
func answered(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := answer(r)
		if err == nil {
			writeJSON(w, http.StatusOK, v)
		}
		writeError(w, r, err)
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

// writeError sends an error, or nothing for nil.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil || r.Context().Err() != nil {
		return
	}
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

func (s *Server) timeline(r *http.Request, found playable) (any, error) {
	return s.model.Timeline(r.Context(), found.Recording)
}

// at answers with the screen after an event (seq) or at a time (t, in
// nanoseconds since the start).
func (s *Server) at(r *http.Request, found playable) (any, error) {
	f, err := s.frame(r, found)
	if err != nil {
		return nil, err
	}
	return newPaint(nil, f), nil
}

func (s *Server) frame(r *http.Request, found playable) (*dashboard.Frame, error) {
	if r.URL.Query().Has("t") {
		t, err := number(r, "t", 0, math.MaxInt64)
		if err != nil {
			return nil, err
		}
		return s.model.AtTime(r.Context(), found.Recording, time.Duration(t))
	}
	seq, err := number(r, "seq", math.MaxUint64, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return s.model.AtSeq(r.Context(), found.Recording, seq)
}

// step answers with the screen that comes next after a position, or, with a
// negative dir, before it.
func (s *Server) step(r *http.Request, found playable) (any, error) {
	seq, err := number(r, "seq", math.MaxUint64, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	t, err := number(r, "t", math.MaxInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	direction := 1
	if r.URL.Query().Get("dir") == "-1" {
		direction = -1
	}
	to, err := s.model.Step(r.Context(), found.Recording, eventlog.Position{Seq: seq, Elapsed: time.Duration(t)}, direction)
	if err != nil {
		return nil, err
	}
	f, err := s.model.AtSeq(r.Context(), found.Recording, to.Seq)
	if err != nil {
		return nil, err
	}
	return newPaint(nil, f), nil
}

// search answers with the moments at which a line with the words (q) came to be
// shown, in the last stretch of the log that begins before an event (before).
func (s *Server) search(r *http.Request, found playable) (any, error) {
	before, err := number(r, "before", math.MaxUint64, math.MaxUint64)
	if err != nil {
		return nil, err
	}
	return s.model.Search(r.Context(), found.Recording, r.URL.Query().Get("q"), before)
}

// number parses a parameter, which may be missing.
func number(r *http.Request, name string, missing, largest uint64) (uint64, error) {
	q := r.URL.Query()
	if !q.Has(name) {
		return missing, nil
	}
	n, err := strconv.ParseUint(q.Get(name), 10, 64)
	if err != nil || n > largest {
		return 0, fault.Errorf(fault.Usage, "%s=%s is not a number that counts here", name, q.Get(name))
	}
	return n, nil
}

// screenshot draws the screen as 'den screenshot' does.
func (s *Server) screenshot(w http.ResponseWriter, r *http.Request, found playable) error {
	format, kind := "png", "image/png"
	switch r.URL.Query().Get("format") {
	case "", "png":
	case "svg":
		format, kind = "svg", "image/svg+xml"
	default:
		return fault.Errorf(fault.Usage, "a screenshot is png or svg")
	}
	f, err := s.frame(r, found)
	if err != nil {
		return err
	}
	draw, err := render.New(render.Options{Scale: 2, Cursor: render.CursorAsSet, Frame: true})
	if err != nil {
		return err
	}
	g := render.FromSnapshot(f.Screen, draw.Theme())
	g.Title = cmp.Or(g.Title, found.Name)
	make := draw.PNG
	if format == "svg" {
		make = draw.SVG
	}
	pic, err := make(g)
	if err != nil {
		return err
	}
	attachment(w.Header(), kind, fmt.Sprintf("%s-%d.%s", found.Name, f.Seq, format))
	w.Write(pic.Data) // Best effort: a browser that went away needs none.
	return nil
}

// filmTypes are the recordings that a page can ask for.
var filmTypes = map[film.Format]string{
	film.Cast: "application/x-asciicast", film.GIF: "image/gif", film.WebM: "video/webm", film.MP4: "video/mp4", film.Text: "text/plain; charset=utf-8",
}

// recording makes a film as 'den export' does, in a file that nobody else
// sees and that is gone when it was sent.
func (s *Server) recording(w http.ResponseWriter, r *http.Request, found playable) (err error) {
	o, err := filmOptions(r, found)
	if err != nil {
		return err
	}
	select {
	case <-s.films:
		defer func() { s.films <- struct{}{} }()
	default:
		return fault.Hintf(fault.Errorf(fault.Busy, "%d recordings are being made already", maxFilms), "try again in a moment")
	}
	l, err := found.Open()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "den-web-*") // mode 0600
	if err != nil {
		return fault.Errorf(fault.Storage, "make a recording: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := film.Write(r.Context(), f, l, o); err != nil {
		return err
	}
	attachment(w.Header(), filmTypes[o.Format], found.Name+"."+o.Format.Extension())
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

func filmOptions(r *http.Request, found playable) (film.Options, error) {
	o := film.Options{Format: cmp.Or(film.Format(r.URL.Query().Get("format")), film.Cast), Title: found.Name, Render: render.Options{Cursor: render.CursorAsSet}}
	if _, ok := filmTypes[o.Format]; !ok {
		return o, fault.Errorf(fault.Usage, "a recording is cast, gif, webm, mp4 or text, not '%s'", o.Format)
	}
	if o.Format != film.Cast && o.Format != film.Text {
		o.IdleLimit = 2 * time.Second // nobody watches a picture that stands still
	}
	from, err := number(r, "from", 0, math.MaxInt64)
	if err != nil {
		return o, err
	}
	to, err := number(r, "to", 0, math.MaxInt64)
	o.From, o.To = time.Duration(from), time.Duration(to)
	return o, err
}
