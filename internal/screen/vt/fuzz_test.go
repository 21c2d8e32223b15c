package vt_test

import (
	"os"
	"path/filepath"
	"testing"

	"den/internal/screen/vt"
)

// Each fuzzer takes raw bytes and a seed: the bytes are fed as they are, then
// what the generator makes of the seed (nothing when it is 0).

func addSeeds(f *testing.F) {
	f.Helper()
	files, _ := filepath.Glob("testdata/xterm/*.in")
	for i, file := range files {
		if i%6 != 0 {
			continue // a few are enough to start from
		}
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data, uint64(0), uint8(1))
		}
	}
	for _, s := range tricky {
		f.Add([]byte(s), uint64(0), uint8(2))
	}
	for seed := range uint64(8) {
		f.Add([]byte(nil), seed+1, uint8(seed))
	}
}

// tricky is input that emulators are known to trip over.
var tricky = []string{
	"x\x1b[2000000000b", "\x1b[99999999999999999999A", "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m",
	"\x1b]0;✳ title\a", "\x1b]0;\x9c\x1b\\", "日", "\x1b[80C日本", "e\u0301\u0301\u0301", "👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽❤️1️⃣", clusters + "👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽❤️1️⃣",
	"\xe2\x82\xe2\x82\xac\xf0\x9f\x98", "\x1b[?69h\x1b[3;5s\x1b[2;3r\x1b[?6h日本語text\x1b[L\x1b[M\x1b[S\x1b[T",
	"\x1b[?1049h\x1b[42mabc\x1b[2J\x1b[?1049l", "\x1b[?47hleft\x1b[?47l", "\x1b7\x1b[5;5H\x1b8\x1b[s\x1b[u", "\x1b(0lqqk\x1b(B\x0elqk\x0f\x1bNx\x1bOx",
	"\x1b[41m\x1b[K\x1b[2;3H\x1b[5X\x1b[2@\x1b[3P", "\x1b[?7lxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx日❤️", clusters + "\x1b[4hab\x1b[H日❤️x",
	"\x1b]8;id=1;http://example.com/\x1b\\link\x1b]8;;\x1b\\", "\x1b]133;A\a$ \x1b]133;B\aecho\r\n\x1b]133;C\ahi\r\n\x1b]133;D;0\a",
	"\x1b[1\"qkeep\x1b[0\"qdrop\x1b[?2K\x1b[?2J", "\x1b[5;2;2;4;8$x\x1b[1;1;2;2;1;3;3;1$v\x1b[2;2;9;9$z\x1b[1;1;9;9${", intro + "\x1b_den;last;3;1;f09f91a9e2808d\x1b\\👩",
	"\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1b[c\x1b[>c\x1b[=c\x1b[6n\x1b[?6n\x1b[>q\x1b]11;?\a", "\x1b[>1u\x1b[>3u\x1b[?u\x1b[<u\x1b[=5;2u", "\x1b[3g\x1b[5GX\x1bH\tY\x1b[ZZ\x1b[2I",
	"\x1b[?1;7;25;1000;1006s\x1b[?7l\x1b[?7r", "\x1b[22;0t\x1b]2;a\a\x1b[23t", "a\nb\nc\nd\ne\nf\ng\nh\x1b[3J\x1b[2J", "\x1b#8\x1b[2;4r\x1bM\x1bD\x1bE",
}

// fuzzSteps makes a program for a terminal from a fuzzer's input.
func fuzzSteps(data []byte, seed uint64, size uint8) (vt.Config, []step) {
	g := newGenerator(seed)
	sizes := [][2]int{{80, 24}, {20, 6}, {10, 4}, {7, 3}, {2, 2}, {1, 1}, {1, 5}, {3, 1}}
	s := sizes[int(size)%len(sizes)]
	cfg := config(s[0], s[1], int(size>>4)*3)
	if len(data) > 1<<16 {
		data = data[:1<<16]
	}
	steps := []step{{data: data}}
	if size&8 != 0 {
		steps = append([]step{write(intro)}, steps...)
	}
	if seed != 0 {
		steps = append(steps, randomSteps(g)...)
	}
	return cfg, steps
}

func fuzzLaw(f *testing.F, law func(vt.Config, uint64) func([]step) string) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, size uint8) {
		cfg, steps := fuzzSteps(data, seed, size)
		check := law(cfg, seed)
		if check(steps) != "" {
			steps = shrink(steps, check)
			t.Fatalf("%dx%d with %d rows of scrollback:\n%safter which: %s", cfg.Cols, cfg.Rows, cfg.Scrollback, describe(steps), check(steps))
		}
	})
}

func FuzzWrite(f *testing.F) {
	fuzzLaw(f, func(cfg vt.Config, _ uint64) func([]step) string { return textLaw(cfg) })
}

func FuzzSplit(f *testing.F) { fuzzLaw(f, splitLaw) }

func FuzzDump(f *testing.F) {
	fuzzLaw(f, func(cfg vt.Config, seed uint64) func([]step) string {
		dumps, goesOn := dumpLaw(cfg), continueLaw(cfg, seed)
		return func(steps []step) string {
			if d := dumps(steps); d != "" {
				return d
			}
			return goesOn(steps)
		}
	})
}

func FuzzResize(f *testing.F) { fuzzLaw(f, resizeLaw) }

func FuzzLower(f *testing.F) { fuzzLaw(f, lowerLaw) }
