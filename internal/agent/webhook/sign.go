package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
)

// The headers of a request.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is how old a request may be for Verify: an older one may be
// somebody's copy.
const Tolerance = 5 * time.Minute

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

// Verify checks that a request was signed with the secret, and not long
// before now. It is for receivers.
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
