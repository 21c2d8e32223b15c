package webhook

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	for status, want := range map[int]reply{
		0: tryAgain, 200: taken, 202: taken, 204: taken, 301: rejected, 302: rejected, 400: rejected, 401: rejected, 404: rejected,
		408: tryAgain, 410: rejected, 425: tryAgain, 429: tryAgain, 500: tryAgain, 502: tryAgain, 503: tryAgain, 599: tryAgain,
	} {
		if got := judge(status); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}

func TestDelay(t *testing.T) {
	for _, row := range []struct {
		failed     int
		retryAfter time.Duration
		random     float64
		want       time.Duration
	}{
		{1, 0, 0, time.Second},
		{2, 0, 0, 2 * time.Second},
		{5, 0, 0, 16 * time.Second},
		{5, 0, 0.5, 12 * time.Second},
		{9, 0, 0, 256 * time.Second},
		{10, 0, 0, 5 * time.Minute},
		{1000, 0, 0, 5 * time.Minute},
		{1000, 0, 1, 150 * time.Second},
		{1, time.Minute, 0, time.Minute},
		{1, 100 * time.Hour, 0, time.Hour},
		{10, time.Second, 0, 5 * time.Minute},
	} {
		if got := delay(row.failed, row.retryAfter, row.random); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "99999999999": maxRetryAfter,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}
