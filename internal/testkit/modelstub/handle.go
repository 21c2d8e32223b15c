package modelstub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"den/internal/base/poll"
)

// maxBody bounds a request: an agent's whole conversation fits.
const maxBody = 64 << 20

// handle records a request and answers it.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeJSON(w, http.StatusRequestEntityTooLarge, object{"error": object{"message": err.Error()}})
		return
	}
	req := &Request{Method: r.Method, Path: r.RequestURI, Header: r.Header.Clone(), Body: body}
	if req.elsewhere() {
		s.record(req)
		writeJSON(w, http.StatusForbidden, object{"error": object{"message": "the model stub is no way out: " + req.Path}})
		return
	}
	if r.Method == http.MethodPost {
		req.Dialect = dialectOf(r.URL.Path)
	}
	if req.Dialect == "" {
		s.record(req)
		s.beside(w, r)
		return
	}
	if err := req.read(); err != nil {
		req.Dialect = "" // it is no request for an answer
		s.record(req)
		writeFailure(w, dialectOf(r.URL.Path), Failure{Status: http.StatusBadRequest, Message: err.Error()})
		return
	}
	s.answer(r.Context(), w, req, s.record(req))
}

func dialectOf(path string) Dialect {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return Messages
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return Generate
	}
	return ""
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, req *Request, reply Reply) {
	if reply.decide != nil {
		reply = reply.decide(req)
	}
	if poll.Pause(ctx, reply.Wait) != nil {
		breakOff()
	}
	if reply.Failure != nil {
		writeFailure(w, req.Dialect, *reply.Failure)
		return
	}
	a := s.answerTo(req, reply)
	if req.Stream {
		out := newStream(ctx, w)
		a.stream(out)
		if out.err != nil {
			breakOff()
		}
		return
	}
	writePlain(ctx, w, req, reply, a.plain())
}

// breakOff ends a handler so that nobody takes what it wrote for all there is:
// net/http resets the connection.
func breakOff() { panic(http.ErrAbortHandler) }

// An answer is a reply in a dialect. There is one type for each.
type answer interface {
	stream(*stream)
	plain() object
}

func (s *Server) answerTo(req *Request, reply Reply) answer {
	switch req.Dialect {
	case Messages:
		return s.messagesAnswer(req, reply)
	case Responses:
		return s.responsesAnswer(req, reply)
	case Generate:
		return s.generateAnswer(req, reply)
	}
	return s.chatAnswer(req, reply)
}

// writePlain writes an answer that is one object, or what is left of it.
func writePlain(ctx context.Context, w http.ResponseWriter, req *Request, reply Reply, v object) {
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-ctx.Done():
			breakOff()
		}
	}
	switch reply.Damage {
	case "":
		writeJSON(w, http.StatusOK, v)
	case Error:
		writeFailure(w, req.Dialect, Failure{Status: http.StatusInternalServerError})
	case Cut:
		breakOff()
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"msg_`) // Best effort: the client may have left.
	}
}

// beside answers what agents ask when no answer of the model is wanted.
func (s *Server) beside(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		writeJSON(w, http.StatusOK, object{"input_tokens": Reply{}.usage().Input})
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, models())
	case r.Method == http.MethodHead, path == "/", telemetry(path):
		w.WriteHeader(http.StatusNoContent)
	default:
		writeJSON(w, http.StatusNotFound, object{"type": "error", "error": object{"type": "not_found_error", "message": "the model stub has no " + path}})
	}
}

// telemetry is asked for nothing and gets nothing.
func telemetry(path string) bool {
	for _, word := range []string{"event_logging", "/telemetry", "/metrics", "/v1/traces", "/v1/logs", "/statsig", "/analytics"} {
		if strings.Contains(path, word) {
			return true
		}
	}
	return false
}

// models is a list in the shapes of both vendors at once.
func models() object {
	return object{
		"object": "list", "has_more": false, "first_id": "stub-model", "last_id": "stub-model",
		"data": []object{{
			"id": "stub-model", "object": "model", "type": "model", "display_name": "Stub", "owned_by": "den",
			"created": 1767225600, "created_at": "2026-01-01T00:00:00Z",
		}},
	}
}

func (f Failure) message() string {
	if f.Message != "" {
		return f.Message
	}
	if text := http.StatusText(f.Status); text != "" {
		return "stub: " + text
	}
	return fmt.Sprintf("stub: status %d", f.Status)
}

// writeFailure writes an API error as its vendor does.
func writeFailure(w http.ResponseWriter, d Dialect, f Failure) {
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(f.RetryAfter.Milliseconds(), 10))
	}
	switch d {
	case Messages:
		writeJSON(w, f.Status, object{"type": "error", "error": messagesError(f)})
	case Generate:
		writeJSON(w, f.Status, object{"error": generateError(f)})
	default:
		writeJSON(w, f.Status, object{"error": openAIError(f)})
	}
}

func messagesError(f Failure) object {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}[f.Status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": kind, "message": f.message()}
}

func openAIError(f Failure) object {
	kind, code := "server_error", any(nil)
	switch {
	case f.Status == 401:
		kind, code = "invalid_request_error", "invalid_api_key"
	case f.Status == 429:
		kind, code = "requests", "rate_limit_exceeded"
	case f.Status < 500:
		kind = "invalid_request_error"
	}
	return object{"type": kind, "code": code, "message": f.message(), "param": nil}
}
