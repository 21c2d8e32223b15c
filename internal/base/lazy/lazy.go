// Package lazy makes values when they are first needed.
//
// A variable of these types costs a process nothing until then. One that is set
// by sync.OnceValue, or to a map, is made at every start, also of a process that
// prints a line and is gone.
package lazy

import (
	"regexp"
	"sync"
)

// Value is a value that Make makes. It may be used by any number of goroutines.
type Value[T any] struct {
	Make func() T

	once sync.Once
	made T
}

// Get returns the value.
func (v *Value[T]) Get() T {
	v.once.Do(func() { v.made = v.Make() })
	return v.made
}

// Regexp is a regular expression, which is compiled by its first use. It may be
// used by any number of goroutines.
type Regexp struct {
	Expr string // a valid one

	once     sync.Once
	compiled *regexp.Regexp
}

// Get returns the expression.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.Expr) })
	return r.compiled
}
