package modelstub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"den/internal/base/poll"
)

// object is a JSON object; its keys are written in order of the alphabet.
type object = map[string]any

// stream writes server-sent events. After an error, or when the client has
// left, the rest is not written.
type stream struct {
	ctx context.Context
	w   http.ResponseWriter
	err error
}

func newStream(ctx context.Context, w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{ctx: ctx, w: w}
}

// event writes one event; name may be "".
func (s *stream) event(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a reply holds JSON that is none: the test is wrong
	}
	s.raw(name, string(data))
}

func (s *stream) raw(name, data string) {
	if s.err != nil {
		return
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	if _, s.err = fmt.Fprintf(s.w, "%sdata: %s\n\n", name, data); s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
}

// text hands out a reply's chunks with its pauses. It reports whether the
// answer goes on: a damaged one ends here.
func (s *stream) text(r Reply, chunk func(string), broken func()) bool {
	for i, c := range r.Text {
		chunk(c)
		if i == 0 && !s.between(r, broken) {
			return false
		}
		if s.err == nil {
			s.err = poll.Pause(s.ctx, r.Gap)
		}
		if s.err != nil {
			return false
		}
	}
	return len(r.Text) > 0 || s.between(r, broken)
}

// between is what happens after the first chunk.
func (s *stream) between(r Reply, broken func()) bool {
	if r.Hold != nil && s.err == nil {
		select {
		case <-r.Hold:
		case <-s.ctx.Done():
			s.err = s.ctx.Err()
		}
	}
	switch r.Damage {
	case Cut:
		breakOff()
	case Garbage:
		s.raw("", `{"type":"message_st`)
	case Error:
		broken()
	}
	return r.Damage == "" && s.err == nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a reply holds JSON that is none: the test is wrong
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(data, '\n')) // Best effort: the client may have left.
}
