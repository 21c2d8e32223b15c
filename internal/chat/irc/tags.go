package irc

import (
	"slices"
	"strings"
	"unicode"

	"den/internal/base/fault"
)

// A Tag is a key with a value; a missing value is the empty one.
type Tag struct{ Key, Value string }

// Tags are the tags of a message, each key once, in the order of the line.
type Tags []Tag

// Get returns the value of a key and whether it is there.
func (t Tags) Get(key string) (string, bool) {
	for _, tag := range t {
		if tag.Key == key {
			return tag.Value, true
		}
	}
	return "", false
}

// Value returns the value of a key, or "".
func (t Tags) Value(key string) string {
	v, _ := t.Get(key)
	return v
}

// With returns the tags with one set. The receiver is not changed.
func (t Tags) With(key, value string) Tags {
	set := make(Tags, 0, len(t)+1)
	for _, tag := range t {
		if tag.Key != key {
			set = append(set, tag)
		}
	}
	return append(set, Tag{key, value})
}

// parseTags reads the part between '@' and the space. Where a key is repeated
// the last one counts; keys that are not valid are skipped.
func parseTags(s string) Tags {
	var tags Tags
	for part := range strings.SplitSeq(s, ";") {
		key, value, _ := strings.Cut(part, "=")
		if validTagKey(key) {
			tags = tags.With(key, unescapeTag(value))
		}
	}
	return tags
}

// validTagKey accepts ['+'] [vendor '/'] name.
func validTagKey(key string) bool {
	key = strings.TrimPrefix(key, "+")
	for _, c := range []byte(key) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '/' || c == '_') {
			return false
		}
	}
	return key != ""
}

var tagEscapes = strings.NewReplacer(`\`, `\\`, ";", `\:`, " ", `\s`, "\r", `\r`, "\n", `\n`)

// unescapeTag follows the table of the specification: a backslash before any
// other character, or at the end, is dropped.
func unescapeTag(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch s[i] {
		case ':':
			b = append(b, ';')
		case 's':
			b = append(b, ' ')
		case 'r':
			b = append(b, '\r')
		case 'n':
			b = append(b, '\n')
		default:
			b = append(b, s[i])
		}
	}
	return string(b)
}

func (t Tags) append(b []byte) ([]byte, error) {
	if len(t) == 0 {
		return b, nil
	}
	start, lead := len(b), byte('@')
	for _, tag := range t {
		if !validTagKey(tag.Key) || strings.Contains(tag.Value, "\x00") {
			return b, fault.Errorf(fault.Usage, "encode tag %q: not a valid key or value", tag.Key)
		}
		b = append(append(b, lead), tag.Key...)
		if tag.Value != "" {
			b = append(append(b, '='), tagEscapes.Replace(tag.Value)...)
		}
		lead = ';'
	}
	b = append(b, ' ')
	if len(b)-start > MaxTags {
		return b, fault.Errorf(fault.Usage, "encode tags: %d bytes, and a line has at most %d", len(b)-start, MaxTags)
	}
	return b, nil
}

// TopicTags returns the tags that a channel carries in its topic: the words
// after "tags:" up to the first that does not end in a comma, in lower case
// and each once.
//
//	Build and release. tags: go, ci, release
func TopicTags(topic string) []string {
	lower := strings.ToLower(topic)
	at := strings.Index(lower, "tags:")
	if at < 0 || at > 0 && isNameRune(rune(lower[at-1])) {
		return nil
	}
	var tags []string
	for _, word := range strings.Fields(lower[at+len("tags:"):]) {
		for tag := range strings.SplitSeq(word, ",") {
			if tag = strings.Trim(tag, ".;()[]"); tag != "" && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		if !strings.HasSuffix(word, ",") {
			break
		}
	}
	return tags
}

// FormatTags writes tags as TopicTags reads them, "" for none. A tag of
// several words becomes one.
func FormatTags(tags []string) string {
	var words []string
	for _, tag := range tags {
		word := strings.Join(strings.FieldsFunc(tag, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }), "-")
		if word != "" {
			words = append(words, strings.ToLower(word))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "tags: " + strings.Join(words, ",")
}
