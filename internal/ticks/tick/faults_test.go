package tick_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"den/internal/agent/runner"
	"den/internal/ticks/plan"
)

// killedMind is a program that is killed in the middle of its first turn. All
// that it is told is in notes/told.
const killedMind = `#!/bin/sh
cat >>notes/told
if [ ! -e sandbox/killed ]; then
	den kernel tool login >>notes/told || exit 1
	den kernel tool open command='echo I stay; exec sleep 1000' >>notes/told || exit 1
	den kernel tool wait timeout=0 >>notes/told || exit 1
	den kernel tool wait timeout=0 >>notes/told || exit 1
	: >sandbox/killed
	kill -9 $$
fi
echo 'the second turn:' >>notes/told
den kernel tool login >>notes/told || exit 1
den kernel tool close tty=1 >>notes/told || exit 1
den kernel tool close tty=0 >>notes/told || exit 1
echo done
`

// A runner that is killed is started again, and the agent goes on: its
// terminals are there, and what it was told it is not told again.
func TestRunnerIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.o.Times.FirstPause = time.Millisecond
	w.put("system/agent_config.json", `{"runner": "script", "command": ["system/mind"]}`)
	w.put("system/mind", killedMind)
	w.put("system/notifications/a.txt", "the mail is here")
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(filepath.Join(w.data, "system/notifications/a.txt"), old, old); err != nil {
		t.Fatal(err)
	}
	r := w.tick(plan.Normal)
	if r.Turns != 2 || r.Last != "done" {
		t.Errorf("%+v", r)
	}
	told := w.read("notes/told")
	if n := strings.Count(told, "the mail is here"); n != 1 {
		t.Errorf("it was told of the mail %d times:\n%s", n, told)
	}
	first, second, _ := strings.Cut(told, "the second turn:")
	if !strings.Contains(first, "Your last turn was cut off (gone: exit code 137") {
		t.Errorf("the second prompt is not in:\n%s", first)
	}
	if !strings.Contains(second, "Open terminals: 0 (bash), 1 (echo I stay; exec sleep 1000). 18 more") {
		t.Errorf("in the second turn it was told:\n%s", second)
	}
	if left, err := filepath.Glob(filepath.Join(w.data, "system/notifications/*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if ran := w.lines("notes/ran"); len(ran) != 4 || ran[3] != "post-tick_1_30-c_normal_normal" {
		t.Errorf("hooks %q", ran)
	}
}

// A runner that is killed each time ends the tick, and what it was not told
// stays.
func TestRunnerIsKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.o.Times.FirstPause = time.Millisecond
	w.put("system/agent_config.json", `{"runner": "script", "command": ["sh", "-c", "kill -9 $$"]}`)
	if err := w.o.Repo.RequestTick("a reason"); err != nil {
		t.Fatal(err)
	}
	seen, err := w.o.Look(t.Context(), time.Now().Add(time.Minute))
	if err != nil || len(seen.Causes) != 1 {
		t.Fatalf("%v, %v", seen, err)
	}
	w.tick(plan.Exhausted, seen.Causes...)
	if w.read("system/tick_trigger") == "" {
		t.Error("the trigger is lost")
	}
}

// Hooks that hang, and leave processes behind, are ended, and the tick goes on
// with the next.
func TestHooksThatHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hooks()
	w.o.Times.HookLimit = 3 * time.Second
	for _, phase := range []string{"pre-tick", "pre-stop", "post-tick"} {
		w.put("system/hooks/"+phase+"/05-hangs", "#!/bin/sh\n(sleep 1000 &)\nsetsid sleep 1000 &\nsleep 1000\n")
	}
	w.mind.turns = []func(*turn) (runner.Result, error){well}
	if r := w.tick(plan.Normal); r.Turns != 1 {
		t.Errorf("%+v", r)
	}
	want := []string{"pre-tick_1", "post-tick_1_10-a_normal_normal", "post-tick_1_20-b_normal_normal", "post-tick_1_30-c_normal_normal"}
	if got := w.lines("notes/ran"); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("hooks %q", got)
	}
	if n := strings.Count(w.logs.String(), "05-hangs: it took longer than"); n != 3 {
		t.Errorf("%d hooks took too long", n)
	}
	if note := w.read("system/crash_notify.txt"); !strings.Contains(note, "hook 05-hangs: it took longer") {
		t.Errorf("the note says %q", note)
	}
	if n, err := w.o.Spawn.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("%d processes were left, %v", n, err)
	}
}

// talkative is a turn that goes on whatever its terminals do.
func talkative(t *turn) (runner.Result, error) {
	said := ""
	for _, c := range []struct{ tool, arguments string }{{"login", ""}, {"close", `{"tty":0}`}} {
		text, err := t.use(c.tool, c.arguments)
		if err != nil {
			text = errors.Join(errors.New(text), err).Error()
		}
		said += text + "\n"
	}
	return t.say("I was told: " + said)
}
