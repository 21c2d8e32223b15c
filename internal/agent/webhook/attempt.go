package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// attempt posts an event once. wait is how long the receiver wants to be left
// alone.
func (s *Sender) attempt(ctx context.Context, r record) (became reply, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.options.URL, bytes.NewReader(r.Body))
	if err != nil {
		return rejected, 0, withoutURL(err)
	}
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "den-webhook/1")
	request.Header.Set(HeaderID, r.ID)
	request.Header.Set(HeaderTimestamp, timestamp)
	if len(s.key) > 0 {
		request.Header.Set(HeaderSignature, sign(s.key, r.ID, timestamp, r.Body))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return tryAgain, 0, withoutURL(err)
	}
	// Best effort: the status is all that counts, and reading the rest only
	// keeps the connection usable.
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	_ = response.Body.Close()
	became = judge(response.StatusCode)
	if became != taken {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return became, retryAfter(response.Header.Get("Retry-After"), time.Now()), err
}

// withoutURL removes the address from an error: it may hold a secret.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// failed notes an attempt after which another follows. People are told of the
// first one only.
func (s *Sender) failed(r record, attempts int, err error) {
	s.mu.Lock()
	s.status.LastError = err.Error()
	s.mu.Unlock()
	if attempts == 1 {
		s.options.Log(fmt.Sprintf("webhook %s to %s: %v; it is tried again", r.ID, s.target, err))
	}
}

// finish removes an event that was taken, or that is given up.
func (s *Sender) finish(r record, became reply, err error) {
	s.mu.Lock()
	count := map[reply]*int{taken: &s.status.Sent, rejected: &s.status.Rejected, tryAgain: &s.status.Expired}[became]
	*count++
	if err != nil {
		s.status.LastError = err.Error()
	}
	stored := s.outbox.finish(r)
	if stored != nil {
		s.status.LastError = stored.Error()
	}
	s.mu.Unlock()
	if became != taken {
		s.options.Log(fmt.Sprintf("webhook %s to %s: %v; it is given up", r.ID, s.target, err))
	}
	if stored != nil {
		s.options.Log(fmt.Sprintf("webhook %s: %v; it may be sent again after a restart", r.ID, stored))
	}
}
