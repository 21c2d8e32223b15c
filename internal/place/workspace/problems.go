package workspace

import (
	"fmt"
	"slices"
	"strings"

	"den/internal/base/fault"
)

// A Problem is one thing that is wrong with a file.
type Problem struct {
	At      Origin
	Message string
}

func (p Problem) String() string { return p.At.String() + ": " + p.Message }

// Problems is all that is wrong, in the order in which it stands.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// report collects problems, and lines with old keys, while a workspace is read.
type report struct {
	problems  Problems
	renamings []renaming
}

func (r *report) add(at Origin, format string, args ...any) {
	r.problems = append(r.problems, Problem{At: at, Message: fmt.Sprintf(format, args...)})
}

// err is all of them as one error, or nil.
func (r *report) err(path string) error { return r.problems.In(path) }

// In is the problems of a file as one error, or nil where there are none.
func (p Problems) In(path string) error {
	if len(p) == 0 {
		return nil
	}
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b Problem) int {
		if a.At.File != b.At.File {
			return strings.Compare(a.At.File, b.At.File)
		}
		return a.At.Line - b.At.Line
	})
	p = slices.Compact(p)
	noun := "problem"
	if len(p) > 1 {
		noun = "problems"
	}
	return fault.Hintf(fault.Errorf(fault.Usage, "%s has %d %s:\n%w", path, len(p), noun, p),
		"fix these lines; 'den init' writes a working example")
}

// didYouMean returns ", did you mean 'x'?" for the nearest of the known words,
// or "" where none is near.
func didYouMean(word string, known []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < distance || d == distance && best != "" && k < best {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean '%s'?", best)
}

// editDistance counts the letters to insert, drop, change or swap with the
// next one to get from a to b.
func editDistance(a, b string) int {
	const tooLong = 64 // no key is; a hostile one costs nothing then
	if len(a) > tooLong || len(b) > tooLong {
		return tooLong
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
