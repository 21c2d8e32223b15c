package budget_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent/budget"
	"den/internal/base/fault"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, path string, l budget.Limits) *budget.Ledger {
	t.Helper()
	ledger, err := budget.Open(path, l)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func add(t *testing.T, l *budget.Ledger, at time.Time, u budget.Usage) []budget.Line {
	t.Helper()
	warn, err := l.Add(at, u)
	if err != nil {
		t.Fatal(err)
	}
	return warn
}

func TestLevels(t *testing.T) {
	hour := func(u budget.Usage) budget.Limits { return budget.Limits{Hour: u} }
	for name, row := range map[string]struct {
		limits budget.Limits
		used   budget.Usage
		level  budget.Level
		which  budget.Which
	}{
		"no limits":          {budget.Limits{}, budget.Usage{Tokens: 1e12, CostUSD: 1e6, Turns: 1e6}, budget.OK, ""},
		"nothing used":       {hour(budget.Usage{Tokens: 100}), budget.Usage{}, budget.OK, budget.TokensPerHour},
		"below four fifths":  {hour(budget.Usage{Tokens: 100}), budget.Usage{Tokens: 79}, budget.OK, budget.TokensPerHour},
		"four fifths":        {hour(budget.Usage{Tokens: 100}), budget.Usage{Tokens: 80}, budget.Warned, budget.TokensPerHour},
		"all":                {hour(budget.Usage{Tokens: 100}), budget.Usage{Tokens: 100}, budget.Exceeded, budget.TokensPerHour},
		"cost":               {hour(budget.Usage{CostUSD: 2}), budget.Usage{CostUSD: 2.5, Tokens: 1}, budget.Exceeded, budget.CostPerHour},
		"turns":              {hour(budget.Usage{Turns: 3}), budget.Usage{Turns: 3}, budget.Exceeded, budget.TurnsPerHour},
		"day":                {budget.Limits{Day: budget.Usage{Turns: 3}}, budget.Usage{Turns: 3}, budget.Exceeded, budget.TurnsPerDay},
		"the worst counts":   {budget.Limits{Hour: budget.Usage{Tokens: 100}, Day: budget.Usage{Turns: 1}}, budget.Usage{Tokens: 90, Turns: 1}, budget.Exceeded, budget.TurnsPerDay},
		"the longest counts": {budget.Limits{Hour: budget.Usage{Tokens: 100}, Day: budget.Usage{Tokens: 100}}, budget.Usage{Tokens: 100}, budget.Exceeded, budget.TokensPerDay},
	} {
		l := open(t, filepath.Join(t.TempDir(), "budget.json"), row.limits)
		add(t, l, noon, row.used)
		if s := l.Check(noon); s.Level != row.level || s.Which != row.which {
			t.Errorf("%s: %s of %q, want %s of %q", name, s.Level, s.Which, row.level, row.which)
		}
	}
}

func TestWarnsOnceAWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.json")
	limits := budget.Limits{Hour: budget.Usage{Turns: 10}}
	l := open(t, path, limits)
	if warn := add(t, l, noon, budget.Usage{Turns: 7}); len(warn) > 0 {
		t.Errorf("warned at 7: %v", warn)
	}
	if warn := add(t, l, noon, budget.Usage{Turns: 1}); len(warn) != 1 || warn[0].Which != budget.TurnsPerHour {
		t.Errorf("at 8: %v", warn)
	}
	l = open(t, path, limits) // as after a restart
	if warn := add(t, l, noon.Add(time.Minute), budget.Usage{Turns: 2}); len(warn) > 0 {
		t.Errorf("warned again at 10: %v", warn)
	}
	later := noon.Add(2 * time.Hour)
	add(t, l, later, budget.Usage{Turns: 1})
	if warn := add(t, l, later, budget.Usage{Turns: 8}); len(warn) != 1 {
		t.Errorf("not warned in the next window: %v", warn)
	}
}

func TestClockThatIsSetBack(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "budget.json"), budget.Limits{Day: budget.Usage{Turns: 5}})
	add(t, l, noon.AddDate(1, 0, 0), budget.Usage{Turns: 5})
	s := l.Check(noon)
	if s.Level != budget.Exceeded {
		t.Errorf("the use is forgotten: %+v", s)
	}
	if s.Until.After(noon.Add(25 * time.Hour)) {
		t.Errorf("paused until %v", s.Until)
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget.json")
	for content, want := range map[string]fault.Kind{"{": fault.Storage, `{"v":99}`: fault.Protocol} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := budget.Open(path, budget.Limits{}); err == nil || fault.KindOf(err) != want {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestTexts(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "budget.json"), budget.Limits{Hour: budget.Usage{Tokens: 2e6}})
	add(t, l, noon, budget.Usage{Tokens: 1234567})
	if got := l.Check(noon).String(); got != "1.23M of 2M tokens in the last hour" {
		t.Errorf("%q", got)
	}
	add(t, l, noon, budget.Usage{Tokens: 1e6})
	if got := l.Check(noon).String(); !strings.Contains(got, "paused until 2026-03-01T13:05:00Z") {
		t.Errorf("%q", got)
	}
}

// The ledger never counts less than was used within the window, nor more than
// was used within the window and five minutes; Until is the first moment at
// which a turn may begin; and the file is bounded.
func TestSlidingWindow(t *testing.T) {
	type use struct {
		at time.Time
		n  int64
	}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		path := filepath.Join(t.TempDir(), "budget.json")
		limits := budget.Limits{Hour: budget.Usage{Tokens: 1000}, Day: budget.Usage{Tokens: 8000}}
		l := open(t, path, limits)
		var all []use
		now := noon
		exact := func(window time.Duration) (sum float64) {
			for _, u := range all {
				if u.at.After(now.Add(-window)) {
					sum += float64(u.n)
				}
			}
			return sum
		}
		for range 150 {
			now = now.Add(time.Duration(r.Int64N(int64(20 * time.Minute))))
			if r.IntN(30) == 0 {
				now = now.Add(9 * time.Hour)
			}
			u := use{now, r.Int64N(400)}
			all = append(all, u)
			add(t, l, now, budget.Usage{Tokens: u.n})
			if r.IntN(10) == 0 {
				l = open(t, path, limits)
			}
			s := l.Check(now)
			for i, window := range []time.Duration{time.Hour, 24 * time.Hour} {
				low, high := exact(window), exact(window+5*time.Minute)
				if got := s.Lines[i].Used; got < low || got > high {
					t.Fatalf("seed %d: %v used in %v, want %v to %v", seed, got, window, low, high)
				}
			}
			if s.Level != budget.Exceeded {
				continue
			}
			if before := l.Check(s.Until.Add(-1)); before.Level != budget.Exceeded {
				t.Fatalf("seed %d: free before %v", seed, s.Until)
			}
			if at := l.Check(s.Until); at.Level == budget.Exceeded {
				t.Fatalf("seed %d: not free at %v: %+v", seed, s.Until, at)
			}
		}
		fi, err := os.Stat(path)
		if err != nil || fi.Size() > 60<<10 {
			t.Errorf("%v, %v", fi, err)
		}
	}
}

func TestNegativeUseIsRefused(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "budget.json"), budget.Limits{})
	for _, u := range []budget.Usage{{Tokens: -1}, {CostUSD: -1}, {Turns: -1}, {CostUSD: math.NaN()}, {CostUSD: math.Inf(1)}} {
		if _, err := l.Add(noon, u); err == nil {
			t.Errorf("%+v was counted", u)
		}
	}
}
