package vt_test

import (
	"testing"

	"den/internal/screen/vt"
)

func write(s string) step            { return step{data: []byte(s)} }
func resize(cols, rows int) step     { return step{cols: cols, rows: rows} }
func sized(cols, rows, n int) [3]int { return [3]int{cols, rows, n} }

// intro is how a dump begins; after it den's own strings are obeyed.
const intro = "\x18\x1bc\x1b[3J"

// regressions are inputs that once broke a law, found by the property tests
// and the fuzzers. All laws are held against each.
var regressions = []struct {
	name  string
	size  [3]int // columns, rows, scrollback
	steps []step
}{
	{"overwriting a wide character at the end of a wrapped row", sized(6, 3, 0), []step{write("0123日x\x1b[1;5Hy")}},
	{"a resize leaves a wrap pending and no last character", sized(80, 24, 0), []step{write("65535;P"), resize(7, 3)}},
	{"rewrapping leaves a wrapped row that ends in a blank", sized(80, 24, 0), []step{write("\x1b[;20Hm"), resize(7, 3)}},
	{"an emoji selector moves the character to the next row", sized(7, 3, 0), []step{write(clusters + "xxxxxx❤️")}},
	{"coloured blanks before a wide character that did not fit", sized(3, 1, 40), []step{write(clusters + "\x1b[42m7\xad\x1bD❤️")}},
	{"a private wrap after a character", sized(20, 6, 0), []step{write(intro + "\xa3\x1b_den;wrap\x1b\\x")}},
	{"a pending wrap outside the margins under origin mode", sized(20, 12, 0), []step{write("\x1b[?6h12345678\x1b7\x1b[3r\x1b8\x1bM901234567890")}},
	{"a selector that does not widen without autowrap", sized(7, 3, 33), []step{write(clusters + "K 7;105m\x1b[?7l$p\x87\xa9\xf01️")}},
	{"an erased continuation row", sized(20, 6, 10), []step{write("cdefabcdefghabcdefghi\x1b[D\x1b[J\nd")}},
	{"a coloured continuation row", sized(1, 5, 0), []step{write("x\x1b[45m\x8d\x1b[@")}},
	{"a wide character that went, leaving its pad", sized(7, 3, 40), []step{write("\x97\xa5\x97\xa5\x97\xa5日\x97\xa5\x97%5\xb8\x8f[7;12H\x1b8\x9c")}},
	{"the top of the screen inside a line, then output", sized(1, 5, 40), []step{write("lqq\x9f\x911036r\xc3\x1b"), resize(7, 3), write("\x97\xa5渏")}},
	{"a widened selector in one column", sized(1, 5, 20), []step{write(clusters + "❤️9H")}},
	{"a private join of empty rows", sized(10, 4, 0), []step{write(intro + "\x1b[8f\x1b_den;join\x1b\\")}},
	{"a private last character that printing cannot make", sized(10, 4, 0), []step{write(intro + "a\x1b_den;last;3;1;61\x1b\\👩\x1b[b")}},
	{"origin mode saved with the cursor", sized(20, 6, 0), []step{write("\x1b[3;5r\x1b[?6h\x1b[2;2H\x1b7\x1b[r\x1b[?6lx")}},
	{"two flags side by side that did not join", sized(20, 6, 0), []step{write(clusters + "🇩\x1b[C\x1b[D🇪")}},
	{"an emoji after a joiner that came late", sized(20, 6, 0), []step{write(clusters + "👩\x1b[C\x1b[D\u200d👩")}},
	{"a selector that came late", sized(20, 6, 0), []step{write(clusters + "❤\x1b[C\x1b[D\uFE0F\u200d🔥")}},
	{"the last character goes below the screen", sized(1, 1, 40), []step{write(intro + "\x1b[?47hx\x1b_den;below;1;1\x1b\\")}},
	{"half a flag in one cell", sized(4, 3, 10), []step{write("\x1b[?2027l🇩🇪🇩🇪🇩\u0301x\x1b[?2027h🇪🇩")}},
	{"half a flag is repeated", sized(4, 3, 10), []step{write("\x1b[?2027l🇩"), write("\x1b[b🇪")}},
	{"an emoji selector without clusters", sized(4, 3, 10), []step{write("\x1b[?2027l❤️❤"), write("️👩‍"), write("👩")}},
	{"half a flag across a wrap", sized(4, 3, 0), []step{write(clusters + "ab🇩\x1b[2;1H🇪")}},
}

func TestRegressions(t *testing.T) {
	laws := map[string]func(vt.Config, uint64) func([]step) string{
		"dump":   func(cfg vt.Config, _ uint64) func([]step) string { return dumpLaw(cfg) },
		"goesOn": continueLaw,
		"split":  splitLaw,
		"text":   func(cfg vt.Config, _ uint64) func([]step) string { return textLaw(cfg) },
		"resize": resizeLaw,
	}
	for _, r := range regressions {
		t.Run(r.name, func(t *testing.T) {
			for name, law := range laws {
				for seed := range uint64(20) {
					if d := law(config(r.size[0], r.size[1], r.size[2]), seed)(r.steps); d != "" {
						t.Fatalf("%s: %s", name, d)
					}
				}
			}
		})
	}
}
