package vt_test

import (
	"fmt"
	"strings"

	"den/internal/screen/vt"
)

// step is one thing done to a terminal: a write, or a resize where cols > 0.
type step struct {
	data       []byte
	cols, rows int
}

func (s step) String() string {
	if s.cols > 0 {
		return fmt.Sprintf("resize %dx%d", s.cols, s.rows)
	}
	return fmt.Sprintf("write %q", s.data)
}

func (s step) do(t *vt.Terminal) {
	if s.cols > 0 {
		t.Resize(s.cols, s.rows)
	} else {
		t.Write(s.data)
	}
}

func describe(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// shrink looks for a smaller list of steps that still breaks the law, where
// the law returns "" for what keeps it.
func shrink(steps []step, breaks func([]step) string) []step {
	tries := 0
	law := func(s []step) string {
		if tries++; tries > 5000 {
			return "" // small enough
		}
		return breaks(s)
	}
	for again := true; again; {
		again = false
		for n := len(steps); n > 0; n /= 2 {
			for i := 0; i+n <= len(steps); {
				less := append(append([]step(nil), steps[:i]...), steps[i+n:]...)
				if law(less) != "" {
					steps, again = less, true
				} else {
					i++
				}
			}
		}
		for i := range steps {
			for n := len(steps[i].data); n > 0; n /= 2 {
				for j := 0; j+n <= len(steps[i].data); {
					less := append([]step(nil), steps...)
					d := steps[i].data
					less[i].data = append(append([]byte(nil), d[:j]...), d[j+n:]...)
					if law(less) != "" {
						steps, again = less, true
					} else {
						j++
					}
				}
			}
		}
	}
	return steps
}
