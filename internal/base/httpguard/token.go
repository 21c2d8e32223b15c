package httpguard

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
)

// NewToken makes a secret that nobody can guess. It can stand in an address and
// in a header.
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // It never fails.
	return base64.RawURLEncoding.EncodeToString(b)
}

// Equal compares secrets, in a time that tells nothing about them.
func Equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
