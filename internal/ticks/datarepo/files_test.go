package datarepo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/ticks/datarepo"
)

func TestConfigDefaultsAndExtras(t *testing.T) {
	r := open(t)
	c, err := r.Config()
	if err != nil || c.Model != "claude-opus-4-6" || c.MaxThinkingTokens != 16000 || c.HookEnvPrefix != "AGENT" || c.Runner != "claude" || c.Container.Engine != datarepo.Auto {
		t.Errorf("%+v, %v", c, err)
	}
	write(t, r, "system/agent_config.json", `{"mood": {"calm": true}, "model": "m", "limits": {"wall_time": "90m", "cost_usd": 2.5, "rounds": 0}, "container": {"engine": "podman", "memory": "2g"}, "command": ["./mind", "-x"], "runner": "script"}`)
	c, err = r.Config()
	if err != nil {
		t.Fatal(err)
	}
	want := datarepo.Limits{WallTime: 90 * time.Minute, Cost: 2.5, ContextPercent: 70}
	if c.Model != "m" || c.MaxThinkingTokens != 16000 || c.Limits != want || c.Container.Engine != datarepo.Podman || !slices.Equal(c.Command, []string{"./mind", "-x"}) || c.Runner != "script" {
		t.Errorf("%+v", c)
	}
	if raw, ok := c.Extra("mood"); !ok || string(raw) != `{"calm": true}` {
		t.Errorf("%s, %v", raw, ok)
	}
}

func TestConfigErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"model": }`:                                "line 1, column 11 (byte 10): invalid character '}'",
		"{\n  \"model\": 5}":                         `line 2, column 12 (byte 13): "model": a number, want a string`,
		`{"max_thinking_tokens": -1}`:                `"max_thinking_tokens": -1 is negative`,
		`{"hook_env_prefix": "A-B"}`:                 `"hook_env_prefix": "A-B" cannot begin the name of a variable`,
		`{"command": "mind"}`:                        `"command": want a program and its arguments`,
		`{"command": ["", "x"]}`:                     `the program's name is empty`,
		`{"limits": {"wal_time": "1h"}}`:             `"limits": no limit is named "wal_time"`,
		`{"limits": {"wall_time": "soon"}}`:          `"wall_time": "soon" is no time`,
		`{"limits": {"context_percent": 101}}`:       `101 is more than 100`,
		`{"container": "jail"}`:                      `no engine is named "jail"; there are auto, none, podman, docker`,
		`{"container": {"engine": 1}}`:               `"container": a number, want a string`,
		`{"limits": {"turns": 1.5}}`:                 `1.5, want a whole number`,
		`{"limits": {"cost_usd": 1e999}}`:            `is too large`,
		`{"limits": {"turns": 9999999999999999999}}`: `want a whole number`,
	} {
		r := open(t)
		write(t, r, "system/agent_config.json", text)
		_, err := r.Config()
		if fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "system/agent_config.json: line ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"Tick {tick} starting in {data_dir}.": "Tick 7 starting in /d.",
		"{tick:03d} {tick:03} {tick:d}":       "007 007 7",
		"{tick:4d}|":                          "   7|",
		"{{tick}} {{{tick}}}":                 "{tick} {7}",
		"a { stray } brace {x} {":             "a { stray } brace {x} {",
		"{tick:999999d}":                      "{tick:999999d}",
	} {
		c := datarepo.DefaultConfig()
		c.InitialQuery = query
		if got := c.Query(7, "/d"); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

func TestStartup(t *testing.T) {
	for text, want := range map[string][]datarepo.Terminal{
		`{}`:          {{Number: 0, Command: "bash"}},
		`{"ttys":[]}`: {{Number: 0, Command: "bash"}},
		`{"ttys":[{"tty":3,"command":"htop","label":"load"},{"tty":1,"command":" "}]}`: {{Number: 0, Command: "bash"}, {Number: 1, Command: "bash"}, {Number: 3, Command: "htop", Label: "load"}},
		`{"ttys":[{"tty":0,"command":"python3"}]}`:                                     {{Number: 0, Command: "python3"}},
	} {
		r := open(t)
		write(t, r, "system/startup.json", text)
		if got, err := r.Startup(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`[`, `{"ttys": {}}`, `{"ttys":[1]}`, `{"ttys":[{}]}`, `{"ttys":[{"tty":20}]}`, `{"ttys":[{"tty":-1}]}`, `{"ttys":[{"tty":1},{"tty":1}]}`, `{"ttys":[{"tty":1,"command":7}]}`, `{"ttys":[{"tty":1,"command":"a\u0000b"}]}`} {
		r := open(t)
		write(t, r, "system/startup.json", text)
		got, err := r.Startup()
		if err == nil || !strings.Contains(err.Error(), "system/startup.json: line 1") || !slices.Equal(got, datarepo.DefaultStartup()) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestState(t *testing.T) {
	r := open(t)
	if s, err := r.State(); err != nil || s.TickCount != 0 || !s.LastTick.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	write(t, r, "system/state.json", `{"tick_count": 4, "last_tick": "2026-02-01T09:30:00.250000", "last_tick_end": null, "first_tick_date": "2026-01-01", "mine": [1, 2]}`)
	s, err := r.State()
	if err != nil || s.TickCount != 4 || !s.LastTick.Equal(time.Date(2026, 2, 1, 9, 30, 0, 250e6, time.Local)) || !s.LastTickEnd.IsZero() || s.FirstTickDate != "2026-01-01" {
		t.Errorf("%+v, %v", s, err)
	}
	end := time.Date(2026, 2, 1, 10, 0, 0, 0, time.Local)
	if err := r.EditState(t.Context(), func(s *datarepo.State) error {
		s.TickCount++
		s.LastTickEnd = end
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"tick_count\": 5,\n  \"last_tick\": \"2026-02-01T09:30:00.250000\",\n  \"last_tick_end\": \"2026-02-01T10:00:00\",\n  \"first_tick_date\": \"2026-01-01\",\n  \"mine\": [\n    1,\n    2\n  ]\n}\n"
	if got := read(t, r, "system/state.json"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// What is set back to what was read is written too.
	s.TickCount = 9
	if err := r.SaveState(s); err != nil {
		t.Fatal(err)
	}
	s.TickCount = 4
	if err := r.SaveState(s); err != nil {
		t.Fatal(err)
	}
	if s, err := r.State(); err != nil || s.TickCount != 4 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A damaged state is kept aside, and counting goes on from the logs.
func TestDamagedState(t *testing.T) {
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.UTC)
	for _, text := range []string{"", "{", `{"tick_count": "four"}`, `{"tick_count": -1}`, "\x00\x00\x00"} {
		r := open(t)
		write(t, r, "system/logs/tick-041.jsonl", "")
		write(t, r, "system/state.json", text)
		if _, err := r.State(); !errors.Is(err, datarepo.ErrCorrupt) || !strings.Contains(err.Error(), "system/state.json") || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", text, err)
		}
		s, told, err := r.StateForTick(now)
		if err != nil || s.TickCount != 41 || !strings.Contains(told, "state.json.corrupt-20260201T093000Z") || !strings.Contains(told, "counted on from 41") {
			t.Errorf("%q: %+v, %q, %v", text, s, told, err)
		}
		if got := read(t, r, "system/state.json.corrupt-20260201T093000Z"); got != text {
			t.Errorf("%q was kept as %q", text, got)
		}
		s.TickCount++
		if err := r.SaveState(s); err != nil {
			t.Fatal(err)
		}
		if s, told, err := r.StateForTick(now); err != nil || s.TickCount != 42 || told != "" {
			t.Errorf("%+v, %q, %v", s, told, err)
		}
	}
	r := open(t) // a missing file counts from the logs too
	write(t, r, "system/logs/tick-007.jsonl", "")
	if s, told, err := r.StateForTick(now); err != nil || s.TickCount != 7 || told != "" {
		t.Errorf("%+v, %q, %v", s, told, err)
	}
}

func TestTrigger(t *testing.T) {
	r := open(t)
	now := time.Now()
	if tr, again, err := r.Trigger(now); tr != nil || again != 0 || err != nil {
		t.Errorf("%v, %v, %v", tr, again, err)
	}
	writeAt(t, r, "system/tick_trigger", "half", now)
	if tr, again, err := r.Trigger(now); tr != nil || again <= 0 || err != nil {
		t.Errorf("being written: %v, %v, %v", tr, again, err)
	}
	if tr, _, err := r.Trigger(now.Add(-time.Hour)); tr == nil || err != nil {
		t.Errorf("after the clock was set back: %v, %v", tr, err)
	}
	write(t, r, "system/tick_trigger", " a reason\n")
	tr, _, err := r.Trigger(now)
	if err != nil || tr == nil || tr.Reason != "a reason" {
		t.Fatalf("%v, %v", tr, err)
	}
	if again, _, err := r.Trigger(now); err != nil || *again != *tr {
		t.Errorf("%v, %v", again, err)
	}
	writeAt(t, r, "system/tick_trigger", " a reason\n", now.Add(-2*time.Second)) // the same words, said again
	if removed, err := r.AcknowledgeTrigger(tr.ID); removed || err != nil {
		t.Errorf("%v, %v", removed, err)
	}
	tr, _, err = r.Trigger(now)
	if err != nil || tr == nil {
		t.Fatalf("the new trigger is lost: %v", err)
	}
	for range 2 { // to acknowledge twice is to acknowledge once
		if removed, err := r.AcknowledgeTrigger(tr.ID); !removed || err != nil {
			t.Errorf("%v, %v", removed, err)
		}
	}
	if got := names(t, r, "system"); slices.ContainsFunc(got, func(name string) bool { return strings.Contains(name, "tick_trigger") }) {
		t.Errorf("%v", got)
	}
	if err := r.RequestTick("by hand"); err != nil || read(t, r, "system/tick_trigger") != "by hand\n" {
		t.Errorf("%v", err)
	}
}

func TestNotifications(t *testing.T) {
	r := open(t)
	now := time.Now()
	name, err := r.Notify(now, "from den")
	if err != nil {
		t.Fatal(err)
	}
	write(t, r, "system/notifications/a.txt", " first \n")
	write(t, r, "system/notifications/empty.txt", "\n")
	write(t, r, "system/notifications/.hidden.txt", "no")
	write(t, r, "system/notifications/note.md", "no")
	writeAt(t, r, "system/notifications/z.txt", "half", now)
	in, err := r.Notifications(now)
	if err != nil || in.Again <= 0 || len(in.Problems) != 0 || len(in.Ready) != 1 || in.Ready[0].Text != "first" {
		t.Errorf("%+v, %v", in, err)
	}
	later := now.Add(time.Minute)
	in, err = r.Notifications(later)
	var texts []string
	for _, n := range in.Ready {
		texts = append(texts, n.Text)
	}
	if err != nil || in.Again != 0 || !slices.Equal(texts, []string{"from den", "first", "half"}) || in.Ready[0].Name != name {
		t.Fatalf("%+v, %v", in, err)
	}
	write(t, r, "system/notifications/z.txt", "half and the rest")
	for i, want := range []bool{true, true, false} {
		if removed, err := r.AcknowledgeNotification(in.Ready[i].ID); removed != want || err != nil {
			t.Errorf("%s: %v, %v", in.Ready[i].Text, removed, err)
		}
	}
	if in, err := r.Notifications(later); err != nil || len(in.Ready) != 1 || in.Ready[0].Text != "half and the rest" {
		t.Errorf("%+v, %v", in, err)
	}
	for _, id := range []string{"", "x", "../state.json@0", "a/b.txt@0", "state.json@0"} {
		if _, err := r.AcknowledgeNotification(id); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, text := range []string{" \n", strings.Repeat("x", 1<<20)} {
		if _, err := r.Notify(now, text); fault.KindOf(err) != fault.Usage {
			t.Errorf("%v", err)
		}
	}
}

func TestManyNotifications(t *testing.T) {
	r := open(t)
	for i := range 250 {
		write(t, r, fmt.Sprintf("system/notifications/%03d.txt", i), fmt.Sprint(i))
	}
	got := 0
	for {
		in, err := r.Notifications(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(in.Ready) == 0 {
			break
		}
		for _, n := range in.Ready {
			if n.Text != fmt.Sprint(got) {
				t.Fatalf("%q, want %d", n.Text, got)
			}
			got++
			if removed, err := r.AcknowledgeNotification(n.ID); !removed || err != nil {
				t.Fatal(err)
			}
		}
	}
	if got != 250 {
		t.Errorf("%d", got)
	}
}

// While tools write new requests over old ones as fast as they can, the last of
// them is never lost: it is read, or it is there.
func TestTriggerIsNeverLost(t *testing.T) {
	r := open(t)
	path := filepath.Join(r.Path(), "system/tick_trigger")
	old := time.Now().Add(-time.Hour)
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for i := range 400 {
			tmp := filepath.Join(r.Path(), "tmp/trigger")
			at := old.Add(time.Duration(i) * time.Second) // long ago: it counts as whole
			if err := errors.Join(os.WriteFile(tmp, []byte(fmt.Sprint(i)), 0o644), os.Chtimes(tmp, at, at), os.Rename(tmp, path)); err != nil {
				t.Error(err)
			}
		}
	})
	last := ""
	look := func() {
		tr, _, err := r.Trigger(time.Now())
		if err != nil {
			t.Error(err)
		}
		if tr == nil {
			return
		}
		last = tr.Reason
		if _, err := r.AcknowledgeTrigger(tr.ID); err != nil {
			t.Error(err)
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			look()
		}
	}
	wg.Wait()
	look()
	if last != "399" {
		t.Errorf("the last request that was read is %q", last)
	}
}

func TestPause(t *testing.T) {
	r := open(t)
	if text, paused, err := r.Paused(); paused || text != "" || err != nil {
		t.Errorf("%q, %v, %v", text, paused, err)
	}
	write(t, r, "system/paused", "by me: on holiday")
	if err := r.Pause(datarepo.Pause{When: time.Now(), Why: "no credit left", Tick: 12, Todo: "pay"}); err != nil {
		t.Fatal(err)
	}
	text, paused, err := r.Paused()
	if !paused || err != nil {
		t.Errorf("%v, %v", paused, err)
	}
	for _, part := range []string{"Why: no credit left", "Tick: 12", "What to do: pay", "den kernel resume", "by me: on holiday"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %s", part, text)
		}
	}
	for _, want := range []bool{true, false} {
		if was, err := r.Resume(); was != want || err != nil {
			t.Errorf("%v, %v", was, err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(r.Path(), "system/paused")); err != nil {
		t.Fatal(err)
	}
	if _, paused, err := r.Paused(); !paused || err != nil {
		t.Errorf("a link to nowhere: %v, %v", paused, err)
	}
	if was, err := r.Resume(); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
}

// What stays because it is not acknowledged yet does not hide what comes.
func TestNotificationsThatStayHideNoOthers(t *testing.T) {
	r := open(t)
	known := map[string]bool{}
	later := time.Now().Add(time.Minute)
	for i := range 250 {
		write(t, r, fmt.Sprintf("system/notifications/%03d.txt", i), fmt.Sprintf("message %d", i))
	}
	var texts []string
	for range 4 {
		in, err := r.NewNotifications(later, func(id string) bool { return known[id] })
		if err != nil {
			t.Fatal(err)
		}
		if more := len(texts)+len(in.Ready) < 250; len(in.Ready) > 100 || (in.Again > 0) != more {
			t.Errorf("%d at once, again after %v", len(in.Ready), in.Again)
		}
		for _, n := range in.Ready {
			known[n.ID] = true
			texts = append(texts, n.Text)
		}
	}
	for i, text := range texts {
		if text != fmt.Sprintf("message %d", i) {
			t.Fatalf("message %d is %q", i, text)
		}
	}
	if len(texts) != 250 {
		t.Errorf("%d messages", len(texts))
	}
	write(t, r, "system/notifications/000.txt", "message 0, and more")
	if in, err := r.NewNotifications(later, func(id string) bool { return known[id] }); err != nil || len(in.Ready) != 1 {
		t.Errorf("one that has changed: %+v, %v", in, err)
	}
}

func TestCrashNotes(t *testing.T) {
	r := open(t)
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.Local)
	long := strings.Repeat("ä", 2000)
	for _, c := range []struct {
		after time.Duration
		text  string
		want  bool
	}{
		{0, "a", true}, {29 * time.Minute, "a", false}, {30 * time.Minute, "a", true}, {31 * time.Minute, "b", true},
		{32 * time.Minute, "a", false}, {33 * time.Minute, "b", false}, // each by itself
		{0, "b", true},                                                  // the clock was set back
		{time.Minute, long, true}, {2 * time.Minute, long + "x", false}, // the same as far as it is told
	} {
		if noted, err := r.NotifyCrash(t.Context(), now.Add(c.after), datarepo.Crash{Text: c.text}); noted != c.want || err != nil {
			t.Errorf("%s %.10s: %v, %v", c.after, c.text, noted, err)
		}
	}
	if got := read(t, r, "system/crash_notify.txt"); got != strings.Repeat("ä", 1500) {
		t.Errorf("%d bytes", len(got))
	}
	if got := read(t, r, "system/crash_state.json"); !strings.Contains(got, `"last_notify": "2026-02-01T09:31:00"`) {
		t.Errorf("%s", got)
	}
	write(t, r, "system/crash_state.json", "{")
	if noted, err := r.NotifyCrash(t.Context(), now, datarepo.Crash{Text: "a"}); !noted || err != nil {
		t.Errorf("a damaged file: %v, %v", noted, err)
	}
	if got := read(t, r, "system/crash_state.json"); !strings.Contains(got, `"error_hash": "0cc175b9"`) { // of "a"
		t.Errorf("%s", got)
	}
}

// The same error is one whatever number it has, and others do not hide it.
func TestCrashNotesOfTheSameError(t *testing.T) {
	r := open(t)
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.Local)
	for i := range 10 {
		tick := datarepo.Crash{Text: fmt.Sprintf("Tick %d: no answer", i), Same: "no answer"}
		hook := datarepo.Crash{Text: "hook 10-a: exit code 1", Beside: true}
		if noted, err := r.NotifyCrash(t.Context(), now.Add(time.Duration(i)*time.Minute), tick); noted != (i == 0) || err != nil {
			t.Errorf("tick %d: %v, %v", i, noted, err)
		}
		if noted, err := r.NotifyCrash(t.Context(), now.Add(time.Duration(i)*time.Minute), hook); noted != (i == 0) || err != nil {
			t.Errorf("hook %d: %v, %v", i, noted, err)
		}
	}
	if got := read(t, r, "system/crash_notify.txt"); got != "Tick 0: no answer\n\nhook 10-a: exit code 1" {
		t.Errorf("%q", got)
	}
	// The tools' keys are about the tick.
	if got := read(t, r, "system/crash_state.json"); !strings.Contains(got, `"last_notify": "2026-02-01T09:30:00"`) {
		t.Errorf("%s", got)
	}
}

// A note goes beside one that is there and was left a short while ago.
func TestCrashNotesBeside(t *testing.T) {
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.Local)
	hook := datarepo.Crash{Text: "hook", Beside: true}
	for name, tt := range map[string]struct {
		before func(*datarepo.Repo) error
		want   string
	}{
		"nothing": {func(*datarepo.Repo) error { return nil }, "hook"},
		"a tick": {func(r *datarepo.Repo) error {
			_, err := r.NotifyCrash(t.Context(), now.Add(-time.Minute), datarepo.Crash{Text: "tick"})
			return err
		}, "tick\n\nhook"},
		"long ago": {func(r *datarepo.Repo) error {
			_, err := r.NotifyCrash(t.Context(), now.Add(-time.Hour), datarepo.Crash{Text: "tick"})
			return err
		}, "hook"},
		"taken by a tool": {func(r *datarepo.Repo) error {
			_, err := r.NotifyCrash(t.Context(), now.Add(-time.Minute), datarepo.Crash{Text: "tick"})
			return errors.Join(err, os.Remove(filepath.Join(r.Path(), "system/crash_notify.txt")))
		}, "hook"},
	} {
		r := open(t)
		if err := tt.before(r); err != nil {
			t.Fatal(err)
		}
		if noted, err := r.NotifyCrash(t.Context(), now, hook); !noted || err != nil {
			t.Errorf("%s: %v, %v", name, noted, err)
		}
		if got := read(t, r, "system/crash_notify.txt"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestLiveStatus(t *testing.T) {
	r := open(t)
	if s, err := r.LiveStatus(); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	now := time.Date(2026, 2, 1, 9, 30, 0, 0, time.Local)
	if err := r.SetLiveStatus(datarepo.LiveStatus{Tick: 7, Tool: "wait", Updated: now}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"status\": \"Tick 7: wait\",\n  \"updated\": \"2026-02-01T09:30:00\",\n  \"tick\": 7,\n  \"tool\": \"wait\"\n}\n"
	if got := read(t, r, "tmp/live_status.json"); got != want {
		t.Errorf("%s", got)
	}
	if s, err := r.LiveStatus(); err != nil || *s != (datarepo.LiveStatus{Tick: 7, Tool: "wait", Status: "Tick 7: wait", Updated: now}) {
		t.Errorf("%+v, %v", s, err)
	}
}
