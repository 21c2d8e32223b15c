package ident_test

import (
	"strings"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/base/ident"
)

func TestCheck(t *testing.T) {
	for _, ok := range []string{"work", "a", "A.b_c-9", strings.Repeat("x", ident.MaxName)} {
		if err := ident.Check("session", ok); err != nil {
			t.Errorf("Check(%q) = %v", ok, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", "a b", "-x", ".x", "a..b", "é", "a\x00", strings.Repeat("x", ident.MaxName+1)} {
		if err := ident.Check("session", bad); fault.KindOf(err) != fault.Usage {
			t.Errorf("Check(%q) = %v, want usage", bad, err)
		}
	}
}

func TestNewSortsByTimeAndDiffers(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	seen := map[string]bool{}
	for range 1000 {
		id := ident.New(now)
		if !ident.IsID(id) || ident.Check("session", id) != nil {
			t.Fatalf("New made %q", id)
		}
		if seen[id] {
			t.Fatalf("New made %q twice", id)
		}
		seen[id] = true
	}
	if a, b := ident.New(now), ident.New(now.Add(time.Millisecond)); a >= b {
		t.Errorf("%q does not sort before %q", a, b)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("work")
	f.Add("../etc")
	f.Fuzz(func(t *testing.T, name string) {
		if ident.Check("session", name) == nil && (strings.ContainsAny(name, "/\\\x00 ") || strings.Contains(name, "..")) {
			t.Errorf("Check let %q through", name)
		}
	})
}

// Many records of one millisecond keep the order in which they were made.
func TestNewAfterKeepsTheOrder(t *testing.T) {
	now, last := time.Now(), ""
	for range 1000 {
		id := ident.NewAfter(last, now)
		if id <= last || !ident.IsID(id) {
			t.Fatalf("%q after %q", id, last)
		}
		last = id
	}
}
