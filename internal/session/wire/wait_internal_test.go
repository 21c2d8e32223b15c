package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"den/internal/screen"
)

// Every field of a wait is a condition or says how long to wait, and those that
// the screen decides reach it.
func TestWaitConditionsAreAll(t *testing.T) {
	fields := []string{"timeout"}
	var onScreen []string
	for _, c := range WaitConditions {
		if fields = append(fields, c.Name); c.Help == "" {
			t.Errorf("%s has no words for help", c.Name)
		}
		if c.holds == nil {
			onScreen = append(onScreen, c.Name)
		}
	}
	var has []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Wait]()) {
		has = append(has, strings.ToLower(f.Name))
	}
	fields = append(fields, "bycommand")
	slices.Sort(fields)
	slices.Sort(has)
	if !slices.Equal(fields, has) {
		t.Errorf("WaitConditions, the timeout and what ends a wait are %v, the fields of Wait %v", fields, has)
	}
	text := "x"
	full := reflect.ValueOf(Wait{Text: &text, Regex: &text, Gone: &text, Changed: &text, Cursor: &screen.Point{}, After: 1}.Conditions())
	for _, name := range append(onScreen, "after") {
		if f := full.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) }); !f.IsValid() || f.IsZero() {
			t.Errorf("the screen is not asked for %s", name)
		}
	}
	if n := full.NumField(); n != len(onScreen)+1 {
		t.Errorf("the screen can be asked for %d things, a wait asks for %d", n, len(onScreen)+1)
	}
}

// Conditions are named in one order, and those on the screen once.
func TestUnmetNamesInOrder(t *testing.T) {
	no := func(time.Duration) bool { return false }
	at := Moment{
		Wrote: func(uint64) bool { return false }, Idle: no, Stable: no,
		Screen: func(unmet []string) []string { return append(unmet, "screen") },
	}
	w := Wait{Exit: true, After: 1, Idle: 1, Stable: 1, Ready: true}
	if got, want := w.Unmet(at), []string{"exit", "output after the baseline", "screen", "idle", "stable"}; !slices.Equal(got, want) {
		t.Errorf("while it runs: %q, want %q", got, want)
	}
	at.Ended = true
	if got, want := w.Unmet(at), []string{"screen", UnprovenIdle, UnprovenStable, "ready"}; !slices.Equal(got, want) {
		t.Errorf("when it is over: %q, want %q", got, want)
	}
}
