package tick_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
)

func TestWholeTick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.put("system/prompt.md", "You are a test.")
	var shown string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("type", `{"tty":0,"expect":"bash","text":"x"}`); err == nil {
			return runner.Result{}, errors.New("typed before login")
		}
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		if _, err := t.use("type", `{"tty":0,"expect":"bash","text":"echo $((6*7)) in $PWD"}`); err != nil {
			return runner.Result{}, err
		}
		var err error
		if shown, err = t.use("wait", `{"until":"42"}`); err != nil {
			return runner.Result{}, err
		}
		return t.say("I am done.") // without closing
	}, func(t *turn) (runner.Result, error) {
		_, err := t.use("close", `{"tty":0}`)
		if err != nil {
			return runner.Result{}, err
		}
		return t.say("Now I am.")
	}, well}
	r := w.tick(plan.Normal, plan.Cause{Kind: plan.ByHand})
	if r.Tick != 1 || r.Turns != 2 || r.Last != "Now I am." {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(shown, "42 in "+w.data+"/sandbox") {
		t.Errorf("the terminal showed %q", shown)
	}
	if got := w.mind.prompt(0); got != "Tick 1 starting. Call login() to begin." {
		t.Errorf("the first prompt: %q", got)
	}
	if got := w.mind.prompt(1); !strings.Contains(got, "Terminals are still open: 0") {
		t.Errorf("the second prompt: %q", got)
	}
	o := w.mind.opened[0]
	if o.SystemPrompt != "You are a test." || !o.OnlyPrompt || o.Dir != w.data || len(o.Servers) != 1 || o.Resume != "" {
		t.Errorf("opened with %+v", o)
	}
	want := []string{"pre-tick_1", "post-tick_1_10-a_normal_normal", "post-tick_1_20-b_normal_normal", "post-tick_1_30-c_normal_normal"}
	if got := w.lines("notes/ran"); !slices.Equal(got, want) {
		t.Errorf("hooks %q", got)
	}
	lines := w.transcript(1)
	if lines[0] != "system tick_begun" || lines[len(lines)-1] != "system tick_ended" || !slices.Contains(lines, "assistant") {
		t.Errorf("transcript %v", lines)
	}
	if archives, err := filepath.Glob(filepath.Join(w.data, "system/logs/sessions/tty_0-tick-001*")); err != nil || len(archives) != 1 {
		t.Errorf("archives %v, %v", archives, err)
	}
	if state := w.read("system/state.json"); !strings.Contains(state, `"tick_count": 1`) || !strings.Contains(state, "last_tick_end") {
		t.Errorf("state %s", state)
	}
	if r := w.tick(plan.Normal); r.Tick != 2 {
		t.Errorf("the next tick is %d", r.Tick)
	}
}

// lines are those of a file, with blanks as underscores.
func (w *world) lines(name string) []string {
	w.Helper()
	var all []string
	for line := range strings.Lines(w.read(name)) {
		all = append(all, strings.ReplaceAll(strings.TrimSpace(line), " ", "_"))
	}
	return all
}

func failing(f runner.Failure) func(*turn) (runner.Result, error) {
	return func(*turn) (runner.Result, error) { return runner.Result{}, &f }
}

// However a tick ends, terminals are closed, hooks run and the end is written
// down.
func TestEveryEnding(t *testing.T) {
	t.Parallel()
	login := func(t *turn) error { _, err := t.use("login", ""); return err }
	for name, tt := range map[string]struct {
		config string
		mind   func(*world) []func(*turn) (runner.Result, error)
		opens  []error
		reason plan.Reason
		paused bool
	}{
		"fatal": {
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){failing(runner.Failure{Class: runner.Auth, Message: "no key"})}
			}, reason: plan.Fatal, paused: true,
		},
		"no such command": {opens: []error{fault.Errorf(fault.NotFound, "start puppet: not there")}, reason: plan.Fatal, paused: true},
		"no such runner":  {config: `{"runner": "dreams"}`, reason: plan.Fatal, paused: true},
		"a limit of rounds": {
			config: `{"runner": "puppet", "limits": {"rounds": 1}}`,
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
					if err := login(t); err != nil {
						return runner.Result{}, err
					}
					return t.say("I keep my terminal")
				}}
			}, reason: plan.Limit,
		},
		"a limit of time": {
			config: `{"runner": "puppet", "limits": {"wall_time": "1s"}}`,
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
					if err := login(t); err != nil {
						return runner.Result{}, err
					}
					<-t.Done()
					return t.say("interrupted")
				}}
			}, reason: plan.Limit,
		},
		"a limit of turns, in one prompt": {
			config: `{"runner": "puppet", "limits": {"turns": 50}}`,
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
					if err := login(t); err != nil {
						return runner.Result{}, err
					}
					for i := 0; i < 5000 && t.Err() == nil; i++ {
						id := fmt.Sprint(i)
						t.each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("puppet", id, "Read", nil)})
						t.each(runner.Event{Kind: runner.ToolFinished, Result: &runner.ToolDone{ID: id}})
					}
					if _, err := t.use("close", `{"tty":0}`); err != nil && t.Err() == nil {
						return runner.Result{}, err
					}
					return t.say("all is read")
				}}
			}, reason: plan.Limit,
		},
		"a limit of cost, in one prompt": {
			config: `{"runner": "puppet", "limits": {"cost_usd": 2}}`,
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
					if err := login(t); err != nil {
						return runner.Result{}, err
					}
					for _, usd := range []float64{0.5, 1.5, 2.5} {
						t.each(runner.Event{Kind: runner.Used, Usage: &runner.Usage{CostUSD: usd}})
					}
					<-t.Done()
					return t.say("interrupted")
				}}
			}, reason: plan.Limit,
		},
		"the context is full": {
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
					if err := login(t); err != nil {
						return runner.Result{}, err
					}
					t.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: 950_000, Window: 1_000_000}})
					<-t.Done()
					return t.say("interrupted")
				}}
			}, reason: plan.ContextFull,
		},
		"the vendor asks for a long rest": {
			mind: func(*world) []func(*turn) (runner.Result, error) {
				return []func(*turn) (runner.Result, error){failing(runner.Failure{Class: runner.Quota, RetryAfter: 9 * time.Hour})}
			}, reason: plan.Exhausted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hooks()
			if tt.config != "" {
				w.put("system/agent_config.json", tt.config)
			}
			w.mind.opens = tt.opens
			if tt.mind != nil {
				w.mind.turns = tt.mind(w)
			}
			r := w.tick(tt.reason)
			ran := w.lines("notes/ran")
			if len(ran) != 4 || !strings.HasSuffix(ran[3], "_abnormal_"+string(tt.reason)) {
				t.Errorf("hooks %q", ran)
			}
			if lines := w.transcript(1); lines[len(lines)-1] != "system tick_ended" {
				t.Errorf("transcript %v", lines)
			}
			if text, paused, err := w.o.Repo.Paused(); err != nil || paused != tt.paused || paused && !strings.Contains(text, "What to do") {
				t.Errorf("paused %v, %q, %v", paused, text, err)
			}
			if w.read("system/crash_notify.txt") == "" {
				t.Error("no note of the failure")
			}
			if r.Outcome.Reason == plan.Exhausted && r.Outcome.Rest != 9*time.Hour {
				t.Errorf("%+v", r.Outcome)
			}
			if _, err := os.Stat(filepath.Join(w.data, "tmp", "live_status.json")); err == nil {
				t.Error("tmp was not emptied")
			}
		})
	}
}

// Ticks that fail for the same reason leave one note, and a hook that fails
// besides does not hide it.
func TestCrashNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("system/hooks/post-tick/10-a", "#!/bin/sh\necho oh >&2\nexit 3\n")
	w.mind.turns = []func(*turn) (runner.Result, error){
		failing(runner.Failure{Class: runner.Quota, Message: "come back", RetryAfter: 9 * time.Hour}),
		failing(runner.Failure{Class: runner.Quota, Message: "come back", RetryAfter: 8*time.Hour + time.Minute}),
		failing(runner.Failure{Class: runner.Auth, Message: "no key"}),
	}
	w.tick(plan.Exhausted)
	first := w.read("system/crash_notify.txt")
	if !strings.HasPrefix(first, "Tick 1 ended: retries-exhausted: ") || !strings.HasSuffix(first, "\n\nhook 10-a: exit code 3: oh") {
		t.Errorf("the note is %q", first)
	}
	w.tick(plan.Exhausted)
	if got := w.read("system/crash_notify.txt"); got != first {
		t.Errorf("the same again: %q", got)
	}
	w.tick(plan.Fatal)
	if got := w.read("system/crash_notify.txt"); !strings.HasPrefix(got, "Tick 3 ended: fatal: ") {
		t.Errorf("another failure: %q", got)
	}
}

// What the backend does not tell is not written down as 0.
func TestOnlyWhatIsToldIsWrittenDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){well, func(t *turn) (runner.Result, error) {
		t.each(runner.Event{Kind: runner.Sized, Size: &runner.Size{Tokens: 7000, Window: 200_000}})
		r, err := well(t)
		r.Usage.CostUSD = 0.25
		return r, err
	}}
	w.tick(plan.Normal)
	silent, before := w.logs.String(), len(w.logs.String())
	end := w.read("system/logs/tick-001.jsonl")
	for _, word := range []string{"tokens=", "window=", "cost_usd", `"context":`} {
		if strings.Contains(silent, word) || strings.Contains(end, word) {
			t.Errorf("%s was written down:\n%s\n%s", word, silent, end)
		}
	}
	w.tick(plan.Normal)
	if log := w.logs.String()[before:]; !strings.Contains(log, "turns=1 replies=1 tokens=7000 window=200000 cost_usd=0.25") {
		t.Errorf("the log: %s", log)
	}
	if end := w.read("system/logs/tick-002.jsonl"); !strings.Contains(end, `"cost_usd":0.25`) || !strings.Contains(end, `"context":{"tokens":7000,"window":200000}`) {
		t.Errorf("the transcript: %s", end)
	}
}

func TestStopEndsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	begun := make(chan struct{})
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		close(begun)
		<-t.Done()
		return t.say("I was stopped")
	}}
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-begun
		stop(errors.New("a test stops it"))
	}()
	r, err := tick.Run(ctx, w.o, nil)
	if err != nil || r.Outcome.Reason != plan.Interrupted || r.Outcome.Why != "a test stops it" {
		t.Fatalf("%+v, %v", r, err)
	}
	if ran := w.lines("notes/ran"); len(ran) != 4 || !strings.HasSuffix(ran[3], "_abnormal_interrupted") {
		t.Errorf("hooks %q", ran)
	}
	if _, paused, _ := w.o.Repo.Paused(); paused {
		t.Error("it is paused")
	}
}

// Notifications reach an agent that works by the answers of its tools, wake a
// tool that waits, and are gone when the turn has ended.
func TestNotificationsWithinTick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told []string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		if _, err := w.o.Repo.Notify(time.Now(), "the mail is here"); err != nil {
			return runner.Result{}, err
		}
		for range 10 { // each wait is at most a minute
			text, err := t.use("wait", `{"timeout":60,"until":"never"}`)
			if err != nil {
				return runner.Result{}, err
			}
			if told = append(told, text); strings.Contains(text, "the mail is here") {
				break
			}
		}
		if _, err := t.use("close", `{"tty":0}`); err != nil {
			return runner.Result{}, err
		}
		return t.say("read")
	}}
	w.tick(plan.Normal)
	if last := told[len(told)-1]; len(told) != 1 || !strings.Contains(last, "[notification]\nthe mail is here") {
		t.Errorf("told %q", told)
	}
	if in, err := w.o.Repo.Notifications(time.Now().Add(time.Minute)); err != nil || len(in.Ready) != 0 {
		t.Errorf("left %v, %v", in, err)
	}
}

// A notification that came with the answer of a tool stays if the turn is cut
// off before the model could read it: the reply used another tool, too.
func TestNotificationOfReplyThatIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancelCause(t.Context())
	var told string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		if _, err := w.o.Repo.Notify(time.Now(), "the mail is here"); err != nil {
			return runner.Result{}, err
		}
		for _, id := range []string{"a", "b"} {
			t.each(runner.Event{Kind: runner.Spoke, Message: runner.UseTool("puppet", id, "wait", nil)})
		}
		var err error
		if told, err = t.use("wait", `{"timeout":60,"until":"never"}`); err != nil {
			return runner.Result{}, err
		}
		if _, err := t.use("wait", `{"timeout":0}`); err != nil {
			return runner.Result{}, err
		}
		stop(errors.New("a test stops it"))
		<-t.Done()
		return runner.Result{}, nil
	}}
	if r, err := tick.Run(ctx, w.o, nil); err != nil || r.Outcome.Reason != plan.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(told, "the mail is here") {
		t.Errorf("told %q", told)
	}
	if in, err := w.o.Repo.Notifications(time.Now().Add(time.Minute)); err != nil || len(in.Ready) != 1 {
		t.Errorf("left %v, %v", in, err)
	}
}

func TestHundredNotifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 100 {
		w.put(fmt.Sprintf("system/notifications/%03d.txt", i), fmt.Sprintf("message %d.", i))
	}
	old := time.Now().Add(-time.Minute)
	for i := range 100 {
		if err := os.Chtimes(filepath.Join(w.data, fmt.Sprintf("system/notifications/%03d.txt", i)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	w.mind.turns = []func(*turn) (runner.Result, error){well, func(t *turn) (runner.Result, error) { return t.say("read") }}
	w.tick(plan.Normal)
	var all string
	for n := range 20 {
		all += w.mind.prompt(n)
	}
	for i := range 100 {
		if n := strings.Count(all, fmt.Sprintf("message %d.", i)); n != 1 {
			t.Errorf("message %d was told %d times in prompts", i, n)
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.data, "system/notifications/*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// More notifications than are read at once, and than one answer carries, reach
// an agent that works: each once, and in the turn that runs.
func TestManyNotificationsWithinATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const messages = 150
	long := strings.Repeat("x", 1000) // about two answers full
	var told string
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		for i := range messages {
			if _, err := w.o.Repo.Notify(time.Now(), fmt.Sprintf("message %d. %s", i, long)); err != nil {
				return runner.Result{}, err
			}
		}
		for strings.Count(told, "[notification]") < messages {
			text, err := t.use("wait", `{"timeout":60,"until":"never"}`)
			if err != nil {
				return runner.Result{}, err
			}
			if !strings.Contains(text, "[notification]") {
				return runner.Result{}, fmt.Errorf("after %d messages a wait was not roused: %s", strings.Count(told, "[notification]"), text)
			}
			told += text
		}
		if _, err := t.use("close", `{"tty":0}`); err != nil {
			return runner.Result{}, err
		}
		return t.say("read")
	}}
	if r := w.tick(plan.Normal); r.Turns != 1 {
		t.Errorf("%d turns", r.Turns)
	}
	for i := range messages {
		if n := strings.Count(told, fmt.Sprintf("message %d. ", i)); n != 1 {
			t.Errorf("message %d was told %d times", i, n)
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.data, "system/notifications/*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A trigger and a wake are answered by the tick whose agent was told of them.
func TestCausesAreAcknowledgedWhenTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.o.Repo.RequestTick("a reason"); err != nil {
		t.Fatal(err)
	}
	w.put("system/schedule.json", `{"wakes": [{"time": "2026-01-01T00:00:00", "reason": "tea"}]}`)
	w.o.Clock = func() time.Time { return time.Now().Add(time.Minute) } // files are whole by then
	look := func() []plan.Cause {
		seen, err := w.o.Look(t.Context(), w.o.Clock())
		if err != nil {
			t.Fatal(err)
		}
		return seen.Causes
	}
	causes := look()
	if len(causes) != 2 {
		t.Fatalf("causes %v", causes)
	}
	w.mind.opens = []error{&runner.Failure{Class: runner.Auth}}
	w.tick(plan.Fatal, causes...)
	if got := look(); !slices.Equal(got, causes) {
		t.Errorf("an agent that never started was told: %v", got)
	}
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	w.tick(plan.Normal, causes...)
	if got := look(); len(got) != 0 {
		t.Errorf("left %v", got)
	}
	if p := w.mind.prompt(0); !strings.Contains(p, "trigger: a reason") || !strings.Contains(p, "wake: tea") {
		t.Errorf("the prompt: %q", p)
	}
}

func TestSecondTickSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		_, err := tick.Run(t.Context, w.o, nil)
		if fault.KindOf(err) != fault.Busy || !strings.Contains(err.Error(), fmt.Sprintf("process %d ('den kernel tick demo'", os.Getpid())) {
			w.Errorf("a second tick: %v", err)
		}
		seen, err := w.o.Look(t.Context, time.Now())
		if err != nil || seen.Held == "" {
			w.Errorf("seen %+v, %v", seen, err)
		}
		return well(t)
	}}
	w.tick(plan.Normal)
}

// Damage is told and does not stop the agent; what would take a limit away
// does.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	w.tick(plan.Normal)
	w.put("system/state.json", `{"tick_count": `)
	if r := w.tick(plan.Normal); r.Tick != 2 {
		t.Errorf("after a damaged state.json: tick %d", r.Tick)
	}
	if err := os.WriteFile(filepath.Join(w.o.Dir.Path, "tick.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.tick(plan.Normal); r.Tick != 3 {
		t.Errorf("after a damaged record: tick %d", r.Tick)
	}
	w.put("system/startup.json", `{"ttys": 5}`)
	w.tick(plan.Normal)
	w.put("system/agent_config.json", `{"runner": "puppet", "limits": {"wal_time": "1h"}}`)
	if _, err := tick.Run(t.Context(), w.o, nil); err == nil || !strings.Contains(err.Error(), "wal_time") {
		t.Errorf("a limit that nobody knows: %v", err)
	}
}

// A record that cannot be written ends the tick, and the hooks run all the
// same.
func TestRecordCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
		if _, err := t.use("login", ""); err != nil {
			return runner.Result{}, err
		}
		if err := os.RemoveAll(w.o.Dir.Path); err != nil {
			return runner.Result{}, err
		}
		t.each(runner.Event{Kind: runner.Spoke, Message: runner.Say("", "something to record")})
		<-t.Done()
		return t.say("interrupted")
	}}
	r := w.tick(plan.Crashed)
	if !strings.Contains(r.Outcome.Why, "record the tick") {
		t.Errorf("%+v", r.Outcome)
	}
	if ran := w.lines("notes/ran"); len(ran) != 4 {
		t.Errorf("hooks %q", ran)
	}
}

// A clock that is set, as often as it is read, ends nothing early and nothing
// late, and what is told of times makes sense.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config string
		mind   func(*turn) (runner.Result, error)
		reason plan.Reason
	}{
		"nothing early": {`{"runner": "puppet", "limits": {"wall_time": "20m"}}`, well, plan.Normal},
		"nothing late": {`{"runner": "puppet", "limits": {"wall_time": "1s"}}`, func(t *turn) (runner.Result, error) {
			<-t.Done()
			return t.say("I was stopped")
		}, plan.Limit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.put("system/agent_config.json", tt.config)
			w.put("system/hooks/post-tick/10-a", "#!/bin/sh\necho \"$AGENT_TICK_DURATION\" >\"$DATA_DIR/notes/took\"\n")
			jumps := []time.Duration{0, -30 * 24 * time.Hour, 100 * 24 * time.Hour, -time.Hour}
			var reads atomic.Int64
			w.o.Clock = func() time.Time { return time.Now().Add(jumps[reads.Add(1)%int64(len(jumps))]) }
			w.mind.turns = []func(*turn) (runner.Result, error){tt.mind}
			begun := time.Now()
			r := w.tick(tt.reason)
			if took := time.Since(begun); r.Took <= 0 || r.Took > took {
				t.Errorf("it took %v, of %v", r.Took, took)
			}
			seconds, err := strconv.ParseFloat(strings.TrimSpace(w.read("notes/took")), 64)
			if took := time.Since(begun).Seconds(); err != nil || seconds < 0 || seconds > took+0.05 { // it is rounded to tenths
				t.Errorf("hooks were told %g seconds, of %g: %v", seconds, took, err)
			}
			if reads.Load() < int64(len(jumps)) {
				t.Errorf("the clock was read %d times", reads.Load())
			}
		})
	}
}

// What failed is tried again in the same session; what was lost begins anew.
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.o.Log.Info("pauses are ten seconds")
	w.mind.opens = []error{&runner.Failure{Class: runner.NoSession}} // at once
	w.mind.turns = []func(*turn) (runner.Result, error){failing(runner.Failure{Class: runner.Overload, RetryAfter: time.Millisecond}), well}
	w.tick(plan.Normal)
	if len(w.mind.opened) != 2 || w.mind.prompt(0) != w.mind.prompt(1) {
		t.Errorf("%d sessions, prompts %q", len(w.mind.opened), w.mind.prompts)
	}
}
