package provider

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"den/internal/base/fault"
)

// maxName bounds a session's name, maxKey a key's.
const (
	maxName = 200
	maxKey  = 128
)

// CheckName refuses what no provider takes as a session's name. All else
// works everywhere: a provider whose names are narrower encodes them.
func CheckName(name string) error {
	switch {
	case name == "":
		return fault.Errorf(fault.Usage, "a session needs a name")
	case len(name) > maxName:
		return fault.Errorf(fault.Usage, "session name %.20q…: %d bytes are too many, %d fit", name, len(name), maxName)
	case !utf8.ValidString(name):
		return fault.Errorf(fault.Usage, "session name %q is not UTF-8", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
		return fault.Errorf(fault.Usage, "session name %q: a space or a control character cannot be in it", name)
	}
	return nil
}

// CheckKey refuses what cannot be a metadata key: letters, digits, '_', '-'
// and '.' can.
func CheckKey(key string) error {
	ok := key != "" && len(key) <= maxKey
	for _, r := range key {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
	}
	if !ok {
		return fault.Errorf(fault.Usage, "metadata key %.40q: use 1 to %d letters, digits, '_', '-' or '.'", key, maxKey)
	}
	return nil
}
