package tick_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/base/filelock"
	"den/internal/session"
	"den/internal/session/home"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
	"den/internal/ticks/wake"
)

// The test binary is another process that runs a tick below a root, and kills
// itself at a step: after the state was recorded, before it is acted upon.
const (
	childVar = "DEN_TICK_ROOT"
	killVar  = "DEN_TICK_KILL_AT"
	denVar   = "DEN_TICK_DEN"
)

// killer notes steps by the stages that they lead to, and kills the process at
// one of them.
type killer struct {
	slog.Handler
	stage string // or "": any
	at    int
	steps *[]string
}

func (k killer) Enabled(context.Context, slog.Level) bool { return true }

func (k killer) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "step" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "stage" && (k.stage == "" || a.Value.String() == k.stage) {
				*k.steps = append(*k.steps, a.Value.String())
				return false
			}
			return true
		})
		if k.at > 0 && len(*k.steps) == k.at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) // it cannot fail
			select {}
		}
		return nil
	}
	return k.Handler.Handle(ctx, r)
}

// child runs one tick and prints how it ended, and its steps.
func child() int {
	den = os.Getenv(denVar)
	w := &world{}
	stage, number, _ := strings.Cut(os.Getenv(killVar), " ")
	at, err := strconv.Atoi(number)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	mind := &puppet{turns: []func(*turn) (runner.Result, error){childTurn, func(t *turn) (runner.Result, error) {
		return runner.Result{Text: "read"}, hear(t.prompt)
	}}}
	if at == killedInTurn {
		mind.turns[0] = killedTurn
	}
	if err := w.open(os.Getenv(childVar), mind, &lines{}); err != nil {
		fmt.Println(err)
		return 1
	}
	var steps []string
	w.o.Log = slog.New(killer{Handler: slog.NewTextHandler(os.Stderr, nil), stage: stage, at: at, steps: &steps})
	seen, err := w.o.Look(context.Background(), time.Now().Add(time.Minute)) // files are whole by then
	if err != nil {
		fmt.Println(err)
		return 1
	}
	r, err := tick.Run(context.Background(), w.o, seen.Causes)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("tick %d %s\n%s\n", r.Tick, r.Outcome.Reason, strings.Join(steps, " "))
	return 0
}

// hear writes down what the agent was told, below the root.
func hear(text string) error {
	f, err := os.OpenFile(filepath.Join(os.Getenv(childVar), heardFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, text)
	return errors.Join(err, f.Close())
}

const heardFile = "heard"

// childTurn opens a second terminal with a program that would outlive it.
func childTurn(t *turn) (runner.Result, error) {
	if err := hear(t.prompt); err != nil {
		return runner.Result{}, err
	}
	for _, c := range []struct{ tool, arguments string }{
		{"login", ""}, {"open", `{"command":"cat"}`}, {"close", `{"tty":1}`}, {"close", `{"tty":0}`},
	} {
		text, err := t.use(c.tool, c.arguments)
		if err == nil {
			err = hear(text)
		}
		if err != nil {
			return runner.Result{}, err
		}
	}
	return t.say("done")
}

// killedInTurn has a child killed while the agent works in two terminals.
const killedInTurn = -1

func killedTurn(t *turn) (runner.Result, error) {
	for _, c := range []struct{ tool, arguments string }{{"login", ""}, {"open", `{"command":"echo hello; sleep 1000"}`}, {"wait", `{"until":"hello"}`}} {
		if _, err := t.use(c.tool, c.arguments); err != nil {
			return runner.Result{}, err
		}
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL) // it cannot fail
	select {}
}

// runChild runs a tick in another process, which is killed at a step. It returns
// how the tick ended, "" if it was killed.
func (w *world) runChild(killAt int) string {
	w.Helper()
	said, _ := w.runChildIn("", killAt)
	return said
}

// runChildIn is runChild for a step of those that lead to a stage. It also
// returns the steps of a tick that was not killed, by their stages.
func (w *world) runChildIn(stage plan.Stage, killAt int) (said string, steps []string) {
	w.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+w.root, denVar+"="+den, fmt.Sprintf("%s=%s %d", killVar, stage, killAt))
	var errs lines
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(); err != nil && !killed {
		w.Fatalf("killed at %d: %v: %s\n%s", killAt, err, out, errs.String())
	}
	said, rest, _ := strings.Cut(string(out), "\n")
	return said, strings.Fields(rest)
}

// step is one of those that lead to a stage, counted from 1.
type step struct {
	plan.Stage
	number  int
	certain bool // every tick has it
}

// stepsOfATick are those at which a tick is killed: of each stage those that
// every tick has, and while the agent works all that one had.
func stepsOfATick(t *testing.T) (all []step) {
	t.Helper()
	w := newWorld(t)
	w.hooks()
	w.ask(1)
	said, stages := w.runChildIn("", 0)
	if said != "tick 1 normal" {
		t.Fatalf("a tick that nobody kills: %s", said)
	}
	for _, stage := range []struct {
		plan.Stage
		steps int // at least
	}{
		{plan.Beginning, 1}, {plan.Preparing, 1}, {plan.PreTick, 2}, {plan.Opening, 1}, {plan.Turning, 3}, {plan.Checking, 1}, {plan.Closing, 1},
		{plan.Finishing, 1}, {plan.PostTick, 4}, {plan.Pushing, 1}, {plan.Cleaning, 1}, {plan.Done, 1},
	} {
		had := 0
		for _, name := range stages {
			if name == string(stage.Stage) {
				had++
			}
		}
		if had < stage.steps {
			t.Fatalf("%d steps lead to %s: %v", had, stage.Stage, stages)
		}
		if stage.Stage != plan.Turning {
			had = stage.steps
		}
		for n := 1; n <= had; n++ {
			all = append(all, step{stage.Stage, n, n <= stage.steps})
		}
	}
	return all
}

// A tick that is killed at any step is completed by the next process: hooks
// after it run once each, its terminals are closed, its transcript ends, and
// nothing is lost that the agent was to be told.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	all := stepsOfATick(t)
	const instances = 4 // one tick after the other is killed in each
	for i := range instances {
		var steps []step
		for n := i; n < len(all); n += instances {
			steps = append(steps, all[n])
		}
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			killedAt(t, steps)
		})
	}
}

// killedAt kills a tick of one instance at each step, and completes it.
func killedAt(t *testing.T, steps []step) {
	w := newWorld(t)
	w.hooks()
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	number := 0
	for _, step := range steps {
		number++
		w.ask(number)
		said, _ := w.runChildIn(step.Stage, step.number)
		w.released()
		switch {
		case said == "":
			w.complete(number, step.Stage)
		case step.certain || said != fmt.Sprintf("tick %d normal", number): // or it had fewer steps
			t.Errorf("step %d to %s: it was not killed: %s", step.number, step.Stage, said)
		}
	}
	number++
	w.ask(number)
	if said := w.runChild(0); said != fmt.Sprintf("tick %d normal", number) {
		t.Errorf("afterwards: %s", said)
	}
	w.nothingIsLost(number)
	if in, err := w.o.Repo.Notifications(time.Now().Add(time.Minute)); err != nil || len(in.Ready) != 0 {
		t.Errorf("the last tick left %v, %v", in, err)
	}
	if left, err := w.o.Look(t.Context(), time.Now().Add(time.Minute)); err != nil || len(left.Causes) != 0 {
		t.Errorf("the last tick left %v, %v", left.Causes, err)
	}
}

// complete completes a tick that was killed in a stage, and demands that all of
// it is done.
func (w *world) complete(number int, stage plan.Stage) {
	w.Helper()
	cut, found, err := w.o.Dir.PeekTick()
	if err != nil || !found || cut.Tick != number || cut.Stage != stage {
		w.Fatalf("killed in stage %s: the record is of tick %d, want %d, in stage %s, %v", stage, cut.Tick, number, cut.Stage, err)
	}
	r, found, err := tick.Complete(w.o)
	if err != nil || found != (stage != plan.Done) || found && r.Tick != number {
		w.Fatalf("killed in stage %s: %+v, %v, %v", stage, r, found, err)
	}
	w.completed(number, cut)
	w.nothingIsLost(number)
}

// words are what the agent of one tick is to be told.
func words(at int) (trigger, wakeup, message string) {
	return fmt.Sprintf("trigger %d.", at), fmt.Sprintf("wake %d.", at), fmt.Sprintf("message %d.", at)
}

// ask leaves a trigger, a wake and a notification.
func (w *world) ask(at int) {
	w.Helper()
	trigger, wakeup, message := words(at)
	_, err := w.o.Wakes.Add(w.Context(), time.Now(), wake.Spec{Time: "2026-01-01T00:00:00", Reason: wakeup})
	if err := errors.Join(err, w.o.Repo.RequestTick(trigger)); err != nil {
		w.Fatal(err)
	}
	name := fmt.Sprintf("system/notifications/%03d.txt", at)
	w.put(name, message)
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(w.data, name), old, old); err != nil {
		w.Fatal(err)
	}
}

// nothingIsLost demands that what the agents were to be told they were, or will
// be. A trigger that another one replaced is gone with it.
func (w *world) nothingIsLost(at int) {
	w.Helper()
	heard, err := os.ReadFile(filepath.Join(w.root, heardFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.Fatal(err)
	}
	known := string(heard)
	seen, err := w.o.Look(w.Context(), time.Now().Add(time.Minute))
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range seen.Causes {
		known += "\n" + c.Reason
	}
	in, err := w.o.Repo.Notifications(time.Now().Add(time.Minute))
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range in.Ready {
		known += "\n" + n.Text
	}
	trigger, _, _ := words(at)
	all := []string{trigger}
	for i := 1; i <= at; i++ {
		_, wakeup, message := words(i)
		all = append(all, wakeup, message)
	}
	for _, text := range all {
		if !strings.Contains(known, text) {
			w.Errorf("after tick %d %q is lost", at, text)
		}
	}
}

// released waits until the process that was killed has let go of the tick: a
// child that it was about to start has its files until it is another program.
func (w *world) released() {
	w.Helper()
	released, err := filelock.Released(w.Context(), w.o.Dir.TickLock(), 0)
	if err != nil {
		w.Fatal(err)
	}
	<-released
}

// completed demands that a tick that was killed when its record was cut is
// completed.
func (w *world) completed(number int, cut plan.State) {
	w.Helper()
	prefix := fmt.Sprintf("post-tick_%d_", cut.Tick)
	var ran []string
	for _, line := range w.lines("notes/ran") {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			name, _, _ := strings.Cut(rest, "_")
			ran = append(ran, name)
		}
	}
	want := []string{"10-a", "20-b", "30-c"}
	if n := len(cut.Hooks); cut.Stage == plan.PostTick && n > 0 {
		// It was recorded as started, and killed before it was: it may have been.
		want = slices.DeleteFunc(want, func(name string) bool { return name == cut.Hooks[n-1] })
	}
	if !slices.Equal(ran, want) {
		w.Errorf("tick %d, killed in stage %s after %v: hooks after the tick %v, want %v", number, cut.Stage, cut.Hooks, ran, want)
	}
	if lines := w.transcript(cut.Tick); lines[len(lines)-1] != "system tick_ended" {
		w.Errorf("tick %d, killed in stage %s: the transcript ends with %s", number, cut.Stage, lines[len(lines)-1])
	}
	w.noSessions()
	w.indexedAfterKill(cut.Tick, time.Now())
	if s, _, err := w.o.Dir.PeekTick(); err != nil || s.Stage != plan.Done {
		w.Errorf("tick %d, killed in stage %s: %s, %v", number, cut.Stage, s.Stage, err)
	}
}

// The agent of the next tick is told what became of the terminals of one that
// was killed, also if another process completed that one first.
func TestTerminalsOfAKilledTickAreToldOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(*world)
		want   string
	}{
		"they ran":                     {func(*world) {}, "Terminal 1 (echo hello; sleep 1000), left by tick 1, still ran and was closed. Archived in system/logs/sessions/tty_1-tick-001"},
		"their hosts were killed, too": {(*world).killHosts, "Terminal 1 (echo hello; sleep 1000), left by tick 1, was lost: its program is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if said := w.runChild(killedInTurn); said != "" {
				t.Fatalf("it was not killed: %s", said)
			}
			w.released()
			tt.before(w)
			if _, found, err := tick.Complete(w.o); err != nil || !found {
				t.Fatalf("%v, %v", found, err)
			}
			var told []string
			w.mind.turns = []func(*turn) (runner.Result, error){func(t *turn) (runner.Result, error) {
				text, err := t.use("login", "")
				if err != nil {
					return runner.Result{}, err
				}
				told = append(told, text)
				if _, err := t.use("close", `{"tty":0}`); err != nil {
					return runner.Result{}, err
				}
				return t.say("done")
			}}
			w.tick(plan.Normal)
			w.tick(plan.Normal)
			if !strings.Contains(told[0], tt.want) {
				t.Errorf("at login it was told %q", told[0])
			}
			if strings.Contains(told[1], "left by") {
				t.Errorf("at the next login it was told %q", told[1])
			}
		})
	}
}

// killHosts kills the hosts of all sessions.
func (w *world) killHosts() {
	w.Helper()
	dirs, err := home.Home{Path: filepath.Join(w.root, "home")}.All()
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range dirs {
		m, err := d.Load()
		if err != nil {
			w.Fatal(err)
		}
		if err := syscall.Kill(m.HostPID, syscall.SIGKILL); err != nil {
			w.Fatal(err)
		}
		if err := session.In(d, session.Options{}).WaitGone(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}
