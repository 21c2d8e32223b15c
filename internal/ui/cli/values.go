package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"den/internal/base/fault"
	"den/internal/session/steps"
)

// duration is a flag in Go's form ("500ms") or in bare seconds ("30", "0.5").
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }
func (d *duration) Type() string   { return "duration" }

func (d *duration) Set(s string) error {
	v, err := steps.ParseDuration(s)
	if err == nil {
		*d = duration(v)
	}
	return err
}

// days is a duration that may also be in days: "30d".
type days duration

func (d *days) String() string { return (*duration)(d).String() }
func (d *days) Type() string   { return "duration" }

func (d *days) Set(s string) error {
	var err error
	if number, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(number, 64); err == nil && n >= 0 && n <= 36500 {
			*d = days(n * 24 * float64(time.Hour))
			return nil
		}
	} else if err = (*duration)(d).Set(s); err == nil {
		return nil
	}
	return fmt.Errorf("'%s' is not a number of days, hours, minutes or seconds such as 30d, 12h, 90m or 45s", s)
}

var byteUnits = []struct {
	suffix string
	size   int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1},
}

// parseBytes reads sizes such as 256MiB, 1.5GB or 4096.
func parseBytes(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range byteUnits {
		if rest, ok := cutSuffixFold(s, u.suffix); ok {
			number, unit = rest, u.size
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || v*float64(unit) > 1<<60 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not a size such as 256MiB", s)
	}
	return int64(v * float64(unit)), nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// formatBytes is for people.
func formatBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
