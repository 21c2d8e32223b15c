package vt_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"den/internal/screen/vt"
)

// manyResizes is randomSteps with many resizes in a row.
func manyResizes(g generator) []step {
	var steps []step
	for range 1 + g.r.IntN(6) {
		steps = append(steps, step{data: g.stream(1 + g.r.IntN(60))})
		for range g.r.IntN(6) {
			cols, rows := randomSize(g.r)
			steps = append(steps, step{cols: cols, rows: rows})
		}
	}
	return steps
}

// deepLaw: it makes no difference whether the scrollback is wrapped anew by
// every resize or once by all of them.
func deepLaw(cfg vt.Config, _ uint64) func([]step) string {
	return func(steps []step) string {
		late, atOnce := vt.New(cfg), vt.New(cfg)
		for i, s := range steps {
			late.SetSeq(uint64(i))
			atOnce.SetSeq(uint64(i))
			s.do(late)
			s.do(atOnce)
			if err := atOnce.Check(); err != nil { // it reads the scrollback
				return err.Error()
			}
		}
		if d := pairDiff(late, atOnce); d != "" {
			return d
		}
		if err := late.Check(); err != nil {
			return err.Error()
		}
		return ""
	}
}

func TestManyResizesAtOnce(t *testing.T) {
	for seed := range 800 {
		g := newGenerator(uint64(seed))
		cols, rows := randomSize(g.r)
		cfg := config(cols, rows, g.r.IntN(4)*15)
		steps := manyResizes(g)
		check := deepLaw(cfg, 0)
		if check(steps) != "" {
			steps = shrink(steps, check)
			t.Fatalf("seed %d, %dx%d with %d rows of scrollback:\n%safter which: %s",
				seed, cols, rows, cfg.Scrollback, describe(steps), check(steps))
		}
	}
}

// Resizes with nothing between them wrap the scrollback once, and those with
// output that does not scroll too. The memory that they take is the measure of
// the work: wrapping all of it takes megabytes each time.
func TestResizesDoNotWrapTheScrollback(t *testing.T) {
	for name, between := range map[string]string{"nothing between": "", "a letter between": "\rx"} {
		t.Run(name, func(t *testing.T) {
			term := vt.New(vt.Config{Cols: 80, Rows: 24, Scrollback: 10000})
			term.Write([]byte(strings.Repeat(strings.Repeat("a long line that wraps ", 8)+"\r\n", 6000)))
			used := allocated(func() {
				r := rand.New(rand.NewPCG(1, 1))
				for range 3000 {
					term.Resize(40+r.IntN(100), 10+r.IntN(40))
					term.Write([]byte(between))
				}
				term.Resize(80, 24)
			})
			if once := allocated(func() { term.ScrollbackLen() }); once < 1<<20 {
				t.Errorf("the scrollback was wrapped before it was read: %d bytes", once)
			}
			// A screen of rows each time, at most.
			if limit := uint64(3000 * 200 << 10); used > limit {
				t.Errorf("3000 resizes took %d bytes, more than %d", used, limit)
			}
		})
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
