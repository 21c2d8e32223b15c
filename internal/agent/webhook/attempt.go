package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"den/internal/base/fault"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// finish removes an event that was taken, or that is given up.
func (s *Sender) finish(r record, became reply, err error) {
	s.mu.Lock()
	stored := s.outbox.finish(r)
	s.mu.Unlock()
	if became != taken {
		s.options.Log(fmt.Sprintf("webhook %s to %s: %v; it is given up", r.ID, s.target, err))
	}
	if stored != nil {
		s.options.Log(fmt.Sprintf("webhook %s: %v; it may be sent again after a restart", r.ID, stored))
	}
}

// reply is what became of an attempt.
type reply string

const (
	taken    reply = "taken"
	tryAgain reply = "try-again"
	rejected reply = "rejected" // trying again would bring the same
)

// judge tells what a status means. 0 stands for no response.
func judge(status int) reply {
	switch {
	case status >= 200 && status < 300:
		return taken
	case status == 0, status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return tryAgain
	}
	return rejected
}

const (
	firstDelay    = time.Second
	maxDelay      = 5 * time.Minute
	maxRetryAfter = time.Hour
	maxAge        = 24 * time.Hour // then an event is given up
)

// delay is the pause after a number of failed attempts: doubled each time, up
// to maxDelay, and shortened by up to a half at random, so that many senders
// do not come at once. What the receiver asks for is respected, up to an hour.
func delay(failed int, retryAfter time.Duration, random float64) time.Duration {
	d := maxDelay
	if failed < 10 {
		d = min(d, firstDelay<<max(failed-1, 0))
	}
	d -= time.Duration(random * float64(d) / 2)
	return max(d, min(retryAfter, maxRetryAfter))
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// The headers of a request.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

const secretPrefix = "whsec_" // before a secret in base64

// key returns the bytes of a secret.
func key(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return []byte(secret), nil
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fault.Errorf(fault.Usage, "read webhook secret: it begins with %s, but is no base64", secretPrefix)
	}
	return raw, nil
}

// sign signs an id, a time and a body.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
