package runner

import (
	"testing"
	"time"
)

// The rows are steps in time: what happens, and whether the breaker is open
// and lets a start through afterwards.
func TestBreaker(t *testing.T) {
	b := DefaultBreaker()
	begin := time.Unix(1e9, 0)
	for i, row := range []struct {
		at    time.Duration
		do    string
		open  bool
		start bool
	}{
		{0, "", false, true},
		{0, "fail", false, true},
		{100 * time.Second, "fail", false, true},
		{301 * time.Second, "fail", false, true}, // the first is forgotten
		{302 * time.Second, "fail", true, false},
		{500 * time.Second, "", true, false},
		{603 * time.Second, "", false, true},  // half open: one try
		{604 * time.Second, "", false, false}, // which is under way
		{605 * time.Second, "fail", true, false},
		{906 * time.Second, "", false, true},
		{907 * time.Second, "succeed", false, true},
		{908 * time.Second, "fail", false, true},
	} {
		now := begin.Add(row.at)
		switch row.do {
		case "fail":
			b.Fail(now)
		case "succeed":
			b.Succeed()
		}
		if b.Open(now) != row.open {
			t.Errorf("row %d: open %v", i, !row.open)
		}
		if b.Try(now) != row.start {
			t.Errorf("row %d: start %v", i, !row.start)
		}
	}
}
