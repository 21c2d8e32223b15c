package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// What was begun is ended in any case, the last one first, and what went wrong
// is told.
func TestHostEndsWhatWasBegun(t *testing.T) {
	h := &host{}
	var ended []string
	run := func() (err error) {
		defer func() { err = h.end(recover(), err) }()
		h.Cleanup(func() { ended = append(ended, "first") })
		h.Cleanup(func() { h.Fatal("cannot end this") })
		h.Cleanup(func() { ended = append(ended, "last") })
		h.Error("noted")
		h.check(errors.New("broken"))
		return nil
	}
	err := run()
	if err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "noted") {
		t.Errorf("it ends with %v", err)
	}
	if want := []string{"last", "first"}; !slices.Equal(ended, want) {
		t.Errorf("ended: %q, want %q", ended, want)
	}
}

// The pointer comes to where it is sent, over the picture that is shown.
func TestGlide(t *testing.T) {
	f := &film{now: shot{Pointer: &pointer{X: 10, Y: 20}}}
	to := pointer{X: 300, Y: 5}
	f.glide(to)
	last := f.frames[len(f.frames)-1]
	if *last.Pointer != to || last.Picture != nil || last.lasts <= 0 {
		t.Errorf("the last frame is %+v with the pointer at %+v", last, *last.Pointer)
	}
	if first := f.frames[0].Pointer; first.X <= 10 || first.X >= 300 {
		t.Errorf("it begins at %+v", *first)
	}
}

// What is typed in the film stands on one row of its terminal.
func TestCommandFits(t *testing.T) {
	if line := "~/shop $ den agent nudge coder '" + fixTask + "'"; len(line) >= 90 {
		t.Errorf("%d columns: %s", len(line), line)
	}
}
