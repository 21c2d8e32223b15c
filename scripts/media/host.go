package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// host is to this program what a test is to others: it is told of failures,
// and ends what was begun. The helpers of tests take it for one.
type host struct {
	cleanups []func()
	failed   error
}

// failure is what ends the program.
type failure struct{ error }

// Helper is for tests.
func (h *host) Helper() {}

// Cleanup has something done at the end, the last one first.
func (h *host) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Fatal ends the program.
func (h *host) Fatal(args ...any) { panic(failure{errors.New(fmt.Sprint(args...))}) }

// Fatalf ends the program.
func (h *host) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Skipf ends the program: there is nothing to skip.
func (h *host) Skipf(format string, args ...any) { h.Fatalf(format, args...) }

// Error notes a failure.
func (h *host) Error(args ...any) {
	h.failed = errors.Join(h.failed, errors.New(fmt.Sprint(args...)))
}

// check ends the program if there is an error.
func (h *host) check(err error) {
	if err != nil {
		h.Fatal(err)
	}
}

// end does all cleanups, and returns what went wrong: err, a failure that was
// recovered, and what was noted.
func (h *host) end(recovered any, err error) error {
	f, ok := recovered.(failure)
	if !ok && recovered != nil {
		panic(recovered)
	}
	for _, clean := range slices.Backward(h.cleanups) {
		func() {
			defer func() {
				if f, ok := recover().(failure); ok {
					fmt.Fprintln(os.Stderr, "media: at the end:", f)
				}
			}()
			clean()
		}()
	}
	if f.error != nil {
		err = errors.Join(err, f.error)
	}
	return errors.Join(err, h.failed)
}
