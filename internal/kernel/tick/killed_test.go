package tick_test

import (
	"context"
	"fmt"
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

	"den/internal/filelock"
	"den/internal/home"
	"den/internal/kernel/plan"
	"den/internal/kernel/tick"
	"den/internal/runner"
	"den/internal/session"
)

// The test binary is another process that runs a tick below a root, and kills
// itself at a step: after the state was recorded, before it is acted upon.
const (
	childVar = "DEN_TICK_ROOT"
	killVar  = "DEN_TICK_KILL_AT"
	denVar   = "DEN_TICK_DEN"
)

// killer counts steps, and kills the process at one.
type killer struct {
	slog.Handler
	at    int
	steps *int
}

func (k killer) Enabled(context.Context, slog.Level) bool { return true }

func (k killer) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "step" {
		*k.steps++
		if *k.steps == k.at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) // it cannot fail
			select {}
		}
		return nil
	}
	return k.Handler.Handle(ctx, r)
}

// child runs one tick and prints how it ended, and how many steps it had.
func child() int {
	den = os.Getenv(denVar)
	w := &world{}
	at, err := strconv.Atoi(os.Getenv(killVar))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	mind := &puppet{turns: []func(*turn) (runner.Result, error){childTurn}}
	if at == killedInTurn {
		mind.turns[0] = killedTurn
	}
	if err := w.open(os.Getenv(childVar), mind, &lines{}); err != nil {
		fmt.Println(err)
		return 1
	}
	steps := 0
	w.o.Log = slog.New(killer{Handler: slog.NewTextHandler(os.Stderr, nil), at: at, steps: &steps})
	r, err := tick.Run(context.Background(), w.o, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("tick %d %s, %d steps\n", r.Tick, r.Outcome.Reason, steps)
	return 0
}

// childTurn opens a second terminal with a program that would outlive it.
func childTurn(t *turn) (runner.Result, error) {
	for _, c := range []struct{ tool, arguments string }{
		{"login", ""}, {"open", `{"command":"sleep 1000"}`}, {"close", `{"tty":1}`}, {"close", `{"tty":0}`},
	} {
		if _, err := t.use(c.tool, c.arguments); err != nil {
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

// runChild runs a tick in another process. It returns what it printed, "" if
// it was killed.
func (w *world) runChild(killAt int) string {
	w.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+w.root, denVar+"="+den, killVar+"="+strconv.Itoa(killAt))
	var errs lines
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled(); err != nil && !killed {
		w.Fatalf("killed at %d: %v: %s\n%s", killAt, err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// A tick that is killed at any step is completed by the next process: hooks
// after it run once each, its terminals are closed, its transcript ends.
func TestKilledAtEachStep(t *testing.T) {
	w := newWorld(t)
	w.hooks()
	whole := w.runChild(0)
	var number, steps int
	if _, err := fmt.Sscanf(whole, "tick %d normal, %d steps", &number, &steps); err != nil || steps < 10 {
		t.Fatalf("%q: %v", whole, err)
	}
	for at := 1; at <= steps; at++ {
		if said := w.runChild(at); said != "" {
			t.Fatalf("it was not killed at step %d of %d: %s", at, steps, said)
		}
		number++
		w.released()
		if r, found, err := tick.Complete(w.o); err != nil || found && r.Tick != number {
			t.Fatalf("killed at step %d: %+v, %v, %v", at, r, found, err)
		} else if !found { // killed when all was done, or before it had a number
			number = w.lastTick(at, steps, number)
			continue
		}
		w.completed(at, number)
	}
	if said := w.runChild(0); said != fmt.Sprintf("tick %d normal, %d steps", number+1, steps) {
		t.Errorf("afterwards: %s", said)
	}
}

// released waits until the process that was killed has let go of the tick: a
// child that it was about to start has its files until it is another program.
func (w *world) released() {
	w.Helper()
	released, err := filelock.Released(w.o.Dir.TickLock())
	if err != nil {
		w.Fatal(err)
	}
	<-released
}

// lastTick is the number of the last tick, where nothing was left to do.
func (w *world) lastTick(at, steps, number int) int {
	w.Helper()
	s, found, err := w.o.Dir.PeekTick()
	if err != nil || !found || s.Stage != plan.Done {
		w.Fatalf("killed at step %d of %d: %+v, %v, %v", at, steps, s, found, err)
	}
	if s.Tick != number && s.Tick != number-1 {
		w.Errorf("killed at step %d: the last tick is %d, want %d", at, s.Tick, number)
	}
	return s.Tick
}

func (w *world) completed(at, number int) {
	w.Helper()
	prefix := fmt.Sprintf("post-tick_%d_", number)
	var ran []string
	for _, line := range w.lines("notes/ran") {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			name, _, _ := strings.Cut(rest, "_")
			ran = append(ran, name)
		}
	}
	slices.Sort(ran)
	if !slices.Equal(ran, []string{"10-a", "20-b", "30-c"}) && !w.wasRunning(at) {
		w.Errorf("killed at step %d: hooks after the tick %v", at, ran)
	}
	if uniq := slices.Compact(slices.Clone(ran)); len(uniq) != len(ran) {
		w.Errorf("killed at step %d: a hook ran twice: %v", at, ran)
	}
	if lines := w.transcript(number); lines[len(lines)-1] != "system tick_ended" {
		w.Errorf("killed at step %d: the transcript ends with %s", at, lines[len(lines)-1])
	}
	w.noSessions()
	w.indexedAfterKill(at, number, time.Now())
	if s, _, err := w.o.Dir.PeekTick(); err != nil || s.Stage != plan.Done {
		w.Errorf("killed at step %d: %s, %v", at, s.Stage, err)
	}
}

// wasRunning reports whether the kill may have hit a hook after the tick: one
// that was recorded as started is not started again.
func (w *world) wasRunning(int) bool {
	s, _, err := w.o.Dir.PeekTick()
	return err == nil && s.Outcome.Reason == plan.Normal
}

// The agent of the next tick is told what became of the terminals of one that
// was killed, also if another process completed that one first.
func TestTerminalsOfAKilledTickAreToldOf(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*world)
		want   string
	}{
		"they ran":                     {func(*world) {}, "Terminal 1 (echo hello; sleep 1000), left by tick 1, still ran and was closed. Archived in system/logs/sessions/tty_1-tick-001."},
		"their hosts were killed, too": {(*world).killHosts, "Terminal 1 (echo hello; sleep 1000), left by tick 1, was lost: its program is gone"},
	} {
		t.Run(name, func(t *testing.T) {
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
