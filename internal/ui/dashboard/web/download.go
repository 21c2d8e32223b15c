package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"time"

	"den/internal/base/fault"
	"den/internal/screen/render"
	"den/internal/screen/render/film"
)

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
