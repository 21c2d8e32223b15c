package box_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"testing"
	"time"

	"den/internal/base/filelock"
	"den/internal/session/home"
	"den/internal/ticks/command"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/plan"
	"den/internal/ticks/tick"
)

// mind uses all of its tools once and says what they answered.
const mind = `#!/bin/sh
set -eu
cat >/dev/null
den kernel tool login
den kernel tool type tty=0 expect=bash text='cat /inside; echo "$DEN_KERNEL at $PWD"'
den kernel tool wait tty=0 until='demo at '
den kernel tool type tty=0 expect=bash text='den kernel wake --at 2099-01-01T00:00 later'
den kernel tool wait tty=0 until='scheduled '
den kernel tool open command='sleep 5'
den kernel tool close tty=1
den kernel tool close tty=0
`

// looks only looks around, and says what it saw.
const looks = `#!/bin/sh
set -eu
cat >/dev/null
den kernel tool login
den kernel tool type tty=0 expect=bash text='cat /inside'
den kernel tool wait tty=0 until=' box'
den kernel tool close tty=0
`

// A tick's terminals and hooks are in a container, which is made from the
// repository's files, stays between ticks, and is made anew when the files have
// changed.
func TestTickInAContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.put("system/mind", strings.Replace(mind, "den kernel tool open", `
den kernel tool type tty=0 expect=bash text='echo "I see $(ls `+w.o.Dir.Path+` | tr "\n" " ")."'
den kernel tool wait tty=0 until='I see box'
den kernel tool open`, 1))
	began := time.Now()
	r := w.tick(plan.Normal, plan.Cause{Kind: plan.ByHand})
	first := time.Since(began)
	for _, part := range []string{"Open terminals: 0 (bash). 19 more", "the box", "demo at " + w.data + "/sandbox", "I see box tty .", "Closed terminal 1 (sleep 5)"} {
		if !strings.Contains(r.Last, part) {
			t.Errorf("the agent was not told %q:\n%s", part, r.Last)
		}
	}
	if got, want := w.read("notes/ran"), "pre-tick 1 in the box at "+w.data+"/sandbox\npost-tick 1 in the box at "+w.data+"/sandbox\n"; got != want {
		t.Errorf("hooks: %q, want %q", got, want)
	}
	if !strings.Contains(w.read("system/schedule.json"), "later") {
		t.Error("the agent could not schedule a wake")
	}
	w.noTerminals()
	if archives, err := filepath.Glob(filepath.Join(w.data, "system/logs/sessions/tty_*-tick-001/recording.cast")); err != nil || len(archives) != 2 {
		t.Errorf("archives %v, %v", archives, err)
	}
	boxes := w.boxes()
	if s := w.status(); len(boxes) != 1 || s.Container == nil || s.Container.State != home.Running || s.Container.Problem != "" {
		t.Fatalf("%d containers, %+v", len(boxes), s.Container)
	}

	w.put("system/mind", looks)
	began = time.Now()
	w.tick(plan.Normal)
	t.Logf("the first tick took %s, the second %s", first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if now := w.boxes(); len(now) != 1 || now[0].ID != boxes[0].ID {
		t.Errorf("nothing has changed, and the container is another one: %+v", now)
	}
	w.put("system/container/word", "another box\n")
	if r := w.tick(plan.Normal); !strings.Contains(r.Last, "another box") {
		t.Errorf("the container is the one from before:\n%s", r.Last)
	}
	if now := w.boxes(); len(now) != 1 || now[0].ID == boxes[0].ID {
		t.Errorf("containers: %+v", now)
	}
	if n := w.images(); n != 1 {
		t.Errorf("%d images are left", n)
	}
}

// waits logs in, says so, and goes on when it is told to.
const waits = `#!/bin/sh
cat >/dev/null
den kernel tool login >/dev/null || exit
: >sandbox/ready
until [ -e sandbox/go ]; do sleep 0.01; done
`

// A container that is killed in the middle of a tick takes its terminals with
// it, and the agent is told. The next that it opens is in a new container, and
// so are the hooks behind the tick.
func TestContainerIsKilledInATick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Repeat("long/", 10)) // sockets find no room there
	w.put("system/mind", waits+`
den kernel tool type tty=0 expect=bash text=x
den kernel tool wait
den kernel tool open
den kernel tool type tty=0 expect=bash text='cat /inside'
den kernel tool wait tty=0 until='the box'
den kernel tool close tty=0
`)
	ended := w.begin()
	w.await("sandbox/ready")
	before := w.status().Container.Since
	w.kill()
	w.put("sandbox/go", "")
	r := <-ended
	for _, part := range []string{"process is gone", "Opened terminal 0 (bash)", "the box", "Closed terminal 0"} {
		if !strings.Contains(r.Last, part) {
			t.Errorf("the agent was not told %q:\n%s", part, r.Last)
		}
	}
	if !strings.Contains(w.logs.String(), "has ended and is started again") {
		t.Error("the log does not tell")
	}
	if s := w.status(); s.Container.State != home.Running || !s.Container.Since.After(before) || s.Last.Outcome.Reason != plan.Normal {
		t.Errorf("status: %+v, %+v", s.Container, s.Last)
	}
	if !strings.Contains(w.read("notes/ran"), "post-tick 1 in the box") {
		t.Errorf("hooks: %q", w.read("notes/ran"))
	}
	if n := len(w.boxes()); n != 1 {
		t.Errorf("%d containers", n)
	}
	w.noTerminals()
}

// childRoot has another process run a tick of the instance there.
const (
	childRoot   = "DEN_BOX_ROOT"
	childSocket = "DEN_BOX_SOCKET"
	childDen    = "DEN_BOX_DEN"
)

func child(root string) int {
	h := &kernelHome{root: root, socket: os.Getenv(childSocket), den: os.Getenv(childDen)}
	if err := h.open(); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	seen, err := h.o.Look(context.Background(), time.Now().Add(time.Minute)) // files are whole by then
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	r, err := tick.Run(context.Background(), h.o, seen.Causes)
	if err != nil || r.Outcome.Reason != plan.Normal {
		os.Stderr.WriteString(h.logs.String())
		return 1
	}
	return 0
}

// A kernel that is killed in the middle of a tick leaves the container as it
// is. The next one ends the terminals in there, runs the hooks behind the tick,
// and goes on in the same container. What the agent was told it is not told
// again, and what came too late it is.
func TestKernelIsKilledInATick(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.put("system/mind", strings.Replace(waits, "cat >/dev/null", "cat >sandbox/prompt", 1))
	if err := w.o.Repo.RequestTick("a test"); err != nil {
		t.Fatal(err)
	}
	kernel := exec.Command(os.Args[0])
	kernel.Env = append(os.Environ(), childRoot+"="+w.root, childSocket+"="+w.socket, childDen+"="+w.den)
	kernel.Stderr = os.Stderr
	if err := kernel.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("sandbox/ready")
	before := w.boxes()[0].ID
	if prompt := w.read("sandbox/prompt"); !strings.Contains(prompt, "trigger: a test") {
		t.Errorf("the prompt was %q", prompt)
	}
	if _, err := w.o.Repo.Notify(time.Now(), "it comes too late"); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	kernel.Wait() // it was killed
	released, err := filelock.Released(t.Context(), w.o.Dir.TickLock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	<-released
	if s := w.status(); s.State != "cut off" || s.Container.State != home.Running {
		t.Errorf("after the kill: %s, %+v", s.State, s.Container)
	}
	r, found, err := tick.Complete(w.o)
	if err != nil || !found || r.Outcome.Reason != plan.Crashed {
		t.Fatalf("%+v, %v, %v", r, found, err)
	}
	w.noTerminals()
	if got := w.read("notes/ran"); strings.Count(got, "post-tick 1 in the box") != 1 {
		t.Errorf("hooks: %q", got)
	}
	seen, err := w.o.Look(t.Context(), time.Now().Add(time.Minute))
	if err != nil || len(seen.Causes) != 1 || seen.Causes[0].Kind != plan.ByNotification {
		t.Errorf("what is left is %+v, %v", seen.Causes, err)
	}
	w.put("system/mind", looks)
	r = w.tick(plan.Normal, seen.Causes...)
	if r.Tick != 2 || !strings.Contains(r.Last, "the box") || !strings.Contains(r.Last, "Terminal 0 (bash), left by tick 1, still ran and was closed.") {
		t.Errorf("%+v", r)
	}
	if log := w.read("system/logs/tick-002.jsonl"); strings.Count(log, "it comes too late") == 0 {
		t.Errorf("the agent was not told what came too late: %s", log)
	}
	if now := w.boxes(); len(now) != 1 || now[0].ID != before {
		t.Errorf("the container is another one: %+v", now)
	}
	if left, err := w.o.Look(t.Context(), time.Now().Add(time.Minute)); err != nil || len(left.Causes) != 0 {
		t.Errorf("in the end %+v is left, %v", left.Causes, err)
	}
}

// Without an engine a tick does not begin, says why, and loses nothing.
func TestEngineIsNotReachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.put("system/mind", looks)
	w.put("system/agent_config.json", `{"runner": "script", "command": ["system/mind"], "container": {"network": "none"}}`)
	if err := w.o.Repo.RequestTick("a test"); err != nil {
		t.Fatal(err)
	}
	cause := []plan.Cause{{Kind: plan.ByTrigger, Reason: "a test"}}
	away := &kernelHome{root: w.root, socket: filepath.Join(w.root, "nowhere"), den: w.den}
	if err := away.open(); err != nil {
		t.Fatal(err)
	}
	defer away.o.Close()
	for _, prepared := range []bool{false, true} { // the container runs, or there was none
		r, err := tick.Run(t.Context(), away.o, cause)
		if err != nil || r.Outcome.Reason != plan.Unprepared || !strings.Contains(r.Outcome.Why, "container engine") || !strings.Contains(r.Outcome.Why, "start one: ") {
			t.Fatalf("%+v, %v\n%s", r.Outcome, err, &away.logs)
		}
		if s := w.status(); s.Last.Outcome.Reason != plan.Unprepared || (s.Container != nil) != prepared {
			t.Errorf("status: %+v, %+v", s.Last, s.Container)
		}
		if trigger, _, err := w.o.Repo.Trigger(time.Now().Add(time.Hour)); err != nil || trigger == nil {
			t.Errorf("the trigger is lost: %v", err)
		}
		if note := w.read("system/crash_notify.txt"); !strings.Contains(note, " ended: unprepared: ") || !prepared && !strings.Contains(note, "\n\nhook 10-where: ") {
			t.Errorf("the note says %q", note)
		}
		if !prepared {
			w.tick(plan.Normal) // the engine is back
		}
	}
	w.tick(plan.Normal)
}

// An image that does not build keeps the first tick from beginning. Later the
// agent goes on in the container that it had, and is told.
func TestImageThatDoesNotBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.put("system/mind", looks)
	good := w.read("system/container/Containerfile")
	bad := good + "RUN echo something is wrong; exit 9\n"
	w.put("system/container/Containerfile", bad)
	r := w.tick(plan.Unprepared)
	if !strings.Contains(r.Outcome.Why, "something is wrong") || !strings.Contains(r.Outcome.Why, "fix its Containerfile") {
		t.Errorf("%+v", r.Outcome)
	}
	if !strings.Contains(w.logs.String(), "something is wrong") || w.status().Container != nil {
		t.Errorf("status: %+v", w.status().Container)
	}
	w.put("system/container/Containerfile", good)
	w.tick(plan.Normal)
	box := w.boxes()[0].ID
	w.put("system/container/Containerfile", bad)
	r = w.tick(plan.Normal)
	if !strings.Contains(r.Last, "Your container could not be made") || !strings.Contains(r.Last, "something is wrong") || !strings.Contains(r.Last, "the box") {
		t.Errorf("the agent was told:\n%s", r.Last)
	}
	if s := w.status(); !strings.Contains(s.Container.Problem, "something is wrong") || s.Container.State != home.Running {
		t.Errorf("status: %+v", s.Container)
	}
	w.put("system/container/Containerfile", good)
	if r := w.tick(plan.Normal); strings.Contains(r.Last, "could not be made") {
		t.Errorf("the agent was told:\n%s", r.Last)
	}
	if now := w.boxes(); len(now) != 1 || now[0].ID != box || w.status().Container.Problem != "" {
		t.Errorf("%+v, %+v", now, w.status().Container)
	}
}

// At its limit a hook ends with all that it has started, in the container too.
func TestHookEndsWithAllItStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	config, err := w.o.Repo.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.o.Repo.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	lodging, err := w.o.Lodge(config)
	if err != nil {
		t.Fatal(err)
	}
	if warning, err := lodging.Prepare(t.Context()); warning != "" || err != nil {
		t.Fatal(warning, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the file, or with the test's patience
		w.appears("sandbox/ready")
		cancel() // as at the limit, whatever time the engine takes
	}()
	r, err := command.Run(ctx, lodging.Hooks, command.Spec{
		Argv: []string{"sh", "-c", `trap "" TERM HUP; setsid sleep 76543 & (sleep 76543 &) ; : >ready; sleep 76543; sleep 76543`},
		Dir:  filepath.Join(w.data, datarepo.Sandbox), Limit: patience, Grace: 100 * time.Millisecond, Keep: 1000,
	})
	if !errors.Is(err, context.Canceled) || !w.appears("sandbox/ready") {
		t.Errorf("%+v, %v", r, err)
	}
	w.until("nothing is left of the hook", func() bool { return len(sleepers(t)) == 0 })
	if n, err := lodging.Hooks.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("%d processes were left, %v", n, err)
	}
}

// sleepers are the processes of the hook that hangs, wherever they are.
func sleepers(t *testing.T) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && string(line) == "sleep\x0076543\x00" {
			found = append(found, file)
		}
	}
	return found
}
