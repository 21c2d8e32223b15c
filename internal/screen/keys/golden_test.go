package keys_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"den/internal/base/fault"
	"den/internal/screen/keys"
	"den/internal/screen/vt"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every named key, alone and with each modifier, in every keyboard mode.
func TestGoldenTable(t *testing.T) {
	modes := []struct {
		name string
		m    vt.Modes
	}{
		{"legacy", vt.Modes{}},
		{"application", vt.Modes{AppCursor: true, AppKeypad: true}},
		{"modify-1", vt.Modes{ModifyOtherKeys: 1}},
		{"modify-2", vt.Modes{ModifyOtherKeys: 2}},
		{"kitty-1", vt.Modes{KittyFlags: 1}},
		{"kitty-3", vt.Modes{KittyFlags: 3}},
		{"kitty-31", vt.Modes{KittyFlags: 31}},
	}
	names := append(keys.Names(), "a", "1", "/", "é")
	var b strings.Builder
	for _, mode := range modes {
		fmt.Fprintf(&b, "# %s\n", mode.name)
		for _, name := range names {
			if strings.HasPrefix(name, "Focus") {
				continue
			}
			fmt.Fprintf(&b, "%s", name)
			for _, prefix := range []string{"", "S-", "M-", "C-", "C-M-", "Super-"} {
				got, err := parse(t, prefix+name).Encode(mode.m)
				switch {
				case err == nil:
					fmt.Fprintf(&b, " %+q", got)
				case fault.KindOf(err) == fault.Unsupported:
					b.WriteString(" -")
				default:
					t.Errorf("%s%s: %v", prefix, name, err)
				}
			}
			b.WriteString("\n")
		}
	}
	path := filepath.Join("testdata", "keys.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(b.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d of %s: got %s, want %s (go test -update writes it anew)", i+1, path, got[min(i, len(got)-1)], line)
		}
	}
}

// Every spelling that String gives parses back to the same chord.
func TestStringParsesBack(t *testing.T) {
	bases := append(keys.Names(), "a", "A", "z", "1", "!", "+", "-", "*", "^", "<", ">", ":", ",", "é", "É", "ß", "ǆ", "İ", "ı", "日", "🇫🇷", "👩‍👩‍👧", "e\u0301",
		"Click:0,0", "Drag:1,2-3,4", "WheelUp:65535,0")
	for _, base := range bases {
		for bits := range 32 {
			prefix := ""
			for i, p := range []string{"C-", "M-", "S-", "Super-", "Hyper-"} {
				if bits>>i&1 != 0 {
					prefix += p
				}
			}
			for _, suffix := range []string{"", "*7"} {
				c, err := keys.Parse(prefix + base + suffix)
				if err != nil {
					if strings.HasPrefix(base, "Focus") {
						continue
					}
					t.Errorf("Parse(%q): %v", prefix+base+suffix, err)
					continue
				}
				if again, err := keys.Parse(c.String()); err != nil || again != c {
					t.Errorf("Parse(%q) spells itself %q, which is %q, %v", prefix+base+suffix, c, again, err)
				}
			}
		}
	}
}
