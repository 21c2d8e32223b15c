package webhook

import (
	"crypto/hmac"
	"net/http"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
)

// Tolerance is how old a request may be for Verify: an older one may be
// somebody's copy.
const Tolerance = 5 * time.Minute

// Verify checks that a request was signed with the secret, and not long
// before now, as a receiver does.
func Verify(secret string, header http.Header, body []byte, now time.Time) error {
	k, err := key(secret)
	if err != nil {
		return err
	}
	timestamp := header.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fault.Errorf(fault.Denied, "verify webhook: it has no time")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > Tolerance {
		return fault.Errorf(fault.Denied, "verify webhook: its time is %v away from now", age.Abs().Round(time.Second))
	}
	want := []byte(sign(k, header.Get(HeaderID), timestamp, body))
	// More than one signature may be there while a secret is replaced.
	for _, got := range strings.Fields(header.Get(HeaderSignature)) {
		if hmac.Equal([]byte(got), want) {
			return nil
		}
	}
	return fault.Errorf(fault.Denied, "verify webhook: no signature matches")
}
