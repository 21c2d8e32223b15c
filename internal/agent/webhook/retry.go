package webhook

import (
	"net/http"
	"strconv"
	"time"
)

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
