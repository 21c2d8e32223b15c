// Package ident checks and makes the names of sessions, cells and agents.
package ident

import (
	"crypto/rand"
	"strings"
	"time"

	"den/internal/base/fault"
)

// MaxName is the longest name in bytes: it must fit a file name with room
// for a suffix.
const MaxName = 128

// Check returns an error that says what is wrong with a name given by a user.
// A name is letters, digits, '_', '.' and '-', and no path component.
func Check(noun, name string) error {
	switch {
	case name == "":
		return fault.Errorf(fault.Usage, "%s name is empty", noun)
	case len(name) > MaxName:
		return fault.Errorf(fault.Usage, "%s name is %d bytes long; the limit is %d", noun, len(name), MaxName)
	case strings.Trim(name, ".") == "" || strings.Contains(name, ".."):
		return fault.Errorf(fault.Usage, "%s name %q may not contain '..'", noun, name)
	case name[0] == '-' || name[0] == '.':
		return fault.Errorf(fault.Usage, "%s name %q may not begin with %q", noun, name, name[0])
	}
	for _, r := range name {
		if !allowed(r) {
			return fault.Errorf(fault.Usage, "%s name %q has a %q; letters, digits, '_', '.' and '-' are allowed", noun, name, r)
		}
	}
	return nil
}

func allowed(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-'
}

// crockford is base 32 without letters that people confuse, in lower case
// because identifiers become file names.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// idLen is ten characters of time in milliseconds and twelve of randomness:
// identifiers sort by time, and two made in one millisecond still differ.
const idLen = 22

// New makes an identifier that sorts by the time it was made.
func New(now time.Time) string {
	var b [idLen]byte
	ms := uint64(now.UnixMilli())
	for i := 9; i >= 0; i-- {
		b[i] = crockford[ms&31]
		ms >>= 5
	}
	var random [idLen - 10]byte
	rand.Read(random[:]) // never fails: crypto/rand crashes the program instead
	for i, r := range random {
		b[10+i] = crockford[r&31]
	}
	return string(b[:])
}

// IsID reports whether s has the form of an identifier made by New.
func IsID(s string) bool {
	if len(s) != idLen {
		return false
	}
	for i := range len(s) {
		if strings.IndexByte(crockford, s[i]) < 0 {
			return false
		}
	}
	return true
}

// NewAfter is New that is larger than an earlier ID, also within one
// millisecond: records named by it keep their order. The earlier one may be "".
func NewAfter(last string, t time.Time) string {
	id := New(t)
	for ahead := time.Millisecond; id <= last; ahead += time.Millisecond {
		id = New(t.Add(ahead))
	}
	return id
}
