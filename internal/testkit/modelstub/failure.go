package modelstub

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

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
