package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
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
	if g.Title == "" {
		g.Title = found.Name
	}
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
	q := r.URL.Query()
	o := film.Options{Format: film.Format(q.Get("format")), Title: found.Name, Render: render.Options{Cursor: render.CursorAsSet}}
	if o.Format == "" {
		o.Format = film.Cast
	}
	if _, ok := filmTypes[o.Format]; !ok {
		return o, fault.Errorf(fault.Usage, "a recording is cast, gif, webm, mp4 or text, not '%s'", o.Format)
	}
	if o.Format != film.Cast && o.Format != film.Text {
		o.IdleLimit = 2 * time.Second // nobody watches a picture that stands still
	}
	from, err := number(q, "from", math.MaxInt64)
	if err == nil && q.Has("from") {
		o.From = time.Duration(from)
	}
	if err != nil {
		return o, err
	}
	to, err := number(q, "to", math.MaxInt64)
	if err == nil && q.Has("to") {
		o.To = time.Duration(to)
	}
	return o, err
}
