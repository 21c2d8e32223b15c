package keys

import (
	"maps"
	"slices"
	"strings"

	"den/internal/base/fault"
)

// unknownKey says what the nearest chord would be.
func unknownKey(whole string, m mods, base string) error {
	var b strings.Builder
	for _, n := range modNames {
		if m&n.bit != 0 {
			b.WriteString(n.text)
		}
	}
	if i := strings.IndexAny(base, "+-"); i > 0 && i < len(base)-1 {
		if near, d := nearest(strings.ToLower(base[:i]), slices.Sorted(maps.Keys(modWords.Get()))); d <= 2 && len(near) > 1 {
			fixed := b.String() + near + base[i:i+1] + base[i+1:]
			if c, err := Parse(fixed); err == nil {
				return fault.Errorf(fault.Usage, "unknown modifier %q in key %q; did you mean %q?", base[:i], whole, c)
			}
		}
	}
	near, d := nearest(fold(base), slices.Sorted(maps.Keys(named.Get())))
	if len(fold(base)) < 2 || d > max(1, len(base)/2) {
		return fault.Errorf(fault.Usage,
			"unknown key %q: a key is one character, a name such as Enter, Up or F5, or either with modifiers (C-c, Alt+Up); to send text use type", whole)
	}
	c := named.Get()[near]
	c.mods |= m
	return fault.Errorf(fault.Usage, "unknown key %q; did you mean %q? (to send text use type)", whole, c)
}

// nearest is the word with the fewest edits to s, of equals the one that
// begins most like it.
func nearest(s string, words []string) (best string, distance int) {
	distance, alike := 1<<20, 0
	for _, w := range words {
		d, a := edits(s, w), 0
		for a < min(len(s), len(w)) && s[a] == w[a] {
			a++
		}
		if d < distance || d == distance && a > alike {
			best, distance, alike = w, d, a
		}
	}
	return best, distance
}

// edits is the Levenshtein distance, over bytes and of at most 32 of them.
func edits(a, b string) int {
	if len(a) > 32 {
		return 1 << 10
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
