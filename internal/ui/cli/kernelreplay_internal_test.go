package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"den/internal/screen"
	"den/internal/screen/render/film"
	"den/internal/screen/vt"
	"den/internal/ticks/history"
	"den/internal/ticks/instance"
	"den/internal/ticks/plan"
	"den/internal/ticks/transcript"
)

// What is not known of a tick is said to be so.
func TestPrintTicks(t *testing.T) {
	began := time.Date(2026, 11, 16, 2, 0, 0, 0, time.Local)
	page := instance.TickPage{Before: 3, Ticks: []instance.Tick{
		{State: instance.TickRuns, Tick: history.Tick{Number: 9, Began: began, Runner: "claude"}},
		{State: instance.TickCutOff, Tick: history.Tick{Number: 8, Began: began, Seen: began.Add(70 * time.Second), Runner: "claude"}},
		{State: instance.TickEnded, Tick: history.Tick{Number: 7, Began: began, Seen: began.Add(time.Second), Completed: began.Add(time.Hour), Outcome: plan.Outcome{Reason: plan.Crashed, Why: "its process was killed"}}},
		{State: instance.TickEnded, Tick: history.Tick{Number: 6, Began: began, Ended: began.Add(90 * time.Second), Runner: "codex", Turns: 3, CostUSD: 0.125, Outcome: plan.Outcome{Reason: plan.Normal}, Last: "one\ntwo", Terminals: make([]history.Terminal, 2)}},
		{State: instance.TickLost, Tick: history.Tick{Number: 5, Seen: began}},
	}}
	var b strings.Builder
	printTicks(&b, "demo", page, began.Add(time.Minute))
	for _, want := range []string{
		`(?m)^9 +2026-11-16 02:00:00 +1m0s +running +\? +0 +claude`,
		`(?m)^8 +2026-11-16 02:00:00 +≥1m10s +cut off +\? +0 +claude`,
		`(?m)^7 +2026-11-16 02:00:00 +≥1s +crashed +0 +0 +\? +its process was killed$`,
		`(?m)^6 +2026-11-16 02:00:00 +1m30s +normal +3 +\$0\.12 +2 +codex +one …$`,
		`(?m)^5 +\? +\? +unknown +\? +0 +\?`,
		`(?m)^older: den kernel replay demo --before 3$`,
	} {
		if !regexp.MustCompile(want).MatchString(b.String()) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

func TestEntryText(t *testing.T) {
	at := time.Date(2026, 11, 16, 2, 3, 4, 0, time.Local)
	for want, e := range map[string]transcript.Entry{
		"02:03:04 > one\n           two\n":            {At: at, Kind: transcript.Prompt, Text: "one\ntwo\n"},
		"02:03:04 < done\n":                           {At: at, Kind: transcript.Said, Text: "done"},
		"02:03:04 ~ hm\n":                             {At: at, Kind: transcript.Thought, Text: "hm"},
		"02:03:04 * type {\"tty\":0}\n":               {At: at, Kind: transcript.Use, Tool: "type", Input: []byte(`{"tty":0}`)},
		"02:03:04   ok\n":                             {At: at, Kind: transcript.Result, Text: "ok"},
		"02:03:04 ! no\n":                             {At: at, Kind: transcript.Result, Text: "no", Failed: true},
		"02:03:04 -- tick begun\n":                    {At: at, Kind: transcript.Note, Text: "tick begun"},
		"--:--:-- -- tick ended {\"reason\":\"x\"}\n": {Kind: transcript.Note, Text: "tick ended", Detail: []byte(`{"reason":"x"}`)},
	} {
		if got := entryText(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPace(t *testing.T) {
	for name, test := range map[string]struct {
		gap  time.Duration
		o    film.Options
		want time.Duration
	}{
		"as recorded":         {3 * time.Second, film.Options{Speed: 1}, 3 * time.Second},
		"without a speed":     {3 * time.Second, film.Options{}, 3 * time.Second},
		"twice as fast":       {3 * time.Second, film.Options{Speed: 2}, 1500 * time.Millisecond},
		"half as fast":        {time.Second, film.Options{Speed: 0.5}, 2 * time.Second},
		"limited":             {time.Hour, film.Options{Speed: 1, IdleLimit: 2 * time.Second}, 2 * time.Second},
		"limited, then speed": {time.Hour, film.Options{Speed: 4, IdleLimit: 2 * time.Second}, 500 * time.Millisecond},
		"accelerated":         {time.Hour, film.Options{Speed: 1, Timing: film.Accelerated}, 400 * time.Millisecond},
		"max":                 {time.Hour, film.Options{Speed: 1, Timing: film.Max}, playFrame},
		"short ones stay":     {time.Millisecond, film.Options{Speed: 1, Timing: film.Max, IdleLimit: time.Second}, time.Millisecond},
	} {
		if got := pace(test.gap, test.o); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A screen that does not fit is shown where its cursor is, and nothing of what
// programs send but text and styles reaches the viewer.
func TestFrameText(t *testing.T) {
	term := vt.New(vt.Config{Cols: 20, Rows: 6})
	term.Write([]byte("one\r\ntwo\r\n\x1b[31mthree\x1b[0m\r\nfour\x1b[6n\x1b]52;c;eA==\x07"))
	shot := screen.Capture(term, 0)
	whole := frameText(&shot, 6)
	if strings.Count(whole, "\r\n") != 5 || !strings.HasPrefix(whole, "\x1b[Hone") || !strings.Contains(whole, "\x1b[38;5;1mthree") {
		t.Errorf("%q", whole)
	}
	if strings.Contains(whole, "\x1b[6n") || strings.Contains(whole, "\x1b]52") {
		t.Errorf("what the program asked for is passed on: %q", whole)
	}
	part := frameText(&shot, 2)
	if strings.Contains(part, "two") || !strings.Contains(part, "three") || !strings.Contains(part, "four") || strings.Count(part, "\r\n") != 1 {
		t.Errorf("%q", part)
	}
}
