package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"den/internal/agent/supervisor"
)

// scripted is a judge that says what it is told, in order, and then OK.
type scripted struct {
	mu      sync.Mutex
	answers []answer
	windows []supervisor.Window
}

type answer struct {
	verdict supervisor.Verdict
	err     error
	takes   time.Duration
}

func (j *scripted) Judge(ctx context.Context, w supervisor.Window) (supervisor.Verdict, error) {
	j.mu.Lock()
	j.windows = append(j.windows, w)
	a := answer{verdict: supervisor.Verdict{Action: supervisor.OK}}
	if len(j.answers) > 0 {
		a, j.answers = j.answers[0], j.answers[1:]
	}
	j.mu.Unlock()
	select {
	case <-ctx.Done():
		return supervisor.Verdict{}, ctx.Err()
	case <-time.After(a.takes):
		return a.verdict, a.err
	}
}

func says(action supervisor.Action, message string) answer {
	return answer{verdict: supervisor.Verdict{Action: action, Message: message}}
}

// watched runs a supervisor and records what it does.
type watched struct {
	*supervisor.Supervisor
	judge *scripted
	mu    sync.Mutex
	did   []string
	deaf  bool  // it does not hear corrections
	lost  error // why corrections cannot be told, or nil
}

func (w *watched) log(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, text)
}

func (w *watched) take() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	did := w.did
	w.did = nil
	return did
}

// steps observes n steps that differ, and waits until each was handled.
func (w *watched) steps(n int) {
	for i := range n {
		w.Observe(step(fmt.Sprint("step ", time.Now().UnixNano(), i)))
		synctest.Wait()
	}
}

// whisper is told to the agent at once, unless it is deaf.
func (w *watched) whisper(id, message string, action supervisor.Action) error {
	w.mu.Lock()
	deaf, lost := w.deaf, w.lost
	w.mu.Unlock()
	if lost != nil {
		return lost
	}
	w.log(fmt.Sprint("whisper ", action, " ", message))
	if !deaf {
		w.Heard(id)
	}
	return nil
}

func watch(t *testing.T, answers ...answer) *watched {
	w, _ := watchWithFile(t, "", answers...)
	return w
}

// watchWithFile is watch of a supervisor that keeps what it knows in a file.
// stop ends it.
func watchWithFile(t *testing.T, file string, answers ...answer) (w *watched, stop func()) {
	w = &watched{judge: &scripted{answers: answers}}
	w.Supervisor = supervisor.New(supervisor.Options{
		Agent: "fox", Judge: w.judge, File: file, Log: w.log,
		Whisper:  w.whisper,
		Escalate: func(m string) { w.log("escalate " + m) },
		Back:     func() { w.log("back") },
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return w, stop
}

// What a supervisor knows survives it: the window, the steps since the last
// evaluation, failed corrections, and that a person was called.
func TestKnowsWhatTheOneBeforeKnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "supervisor.json")
	synctest.Test(t, func(t *testing.T) {
		w, stop := watchWithFile(t, file, says(supervisor.Correction, "a"), says(supervisor.Correction, "b"))
		w.steps(13)
		stop()
		w, stop = watchWithFile(t, file, says(supervisor.Correction, "c"))
		if s := w.Status(); s.Failed != 2 || s.State != supervisor.Watching {
			t.Errorf("%+v", s)
		}
		w.steps(2)
		if did := w.take(); !slices.Equal(did, []string{"escalate 3 corrections in a row did not help; the last one: c"}) {
			t.Errorf("%q", did)
		}
		if told := w.judge.windows[0]; len(told.Steps) != 15 || told.Whispered != "b" || told.Since != 5 {
			t.Errorf("%d steps, %q, %d steps ago", len(told.Steps), told.Whispered, told.Since)
		}
		stop()
		w, _ = watchWithFile(t, file, says(supervisor.Escalation, "not asked"))
		if s := w.Status(); s.State != supervisor.Paused {
			t.Errorf("%+v", s)
		}
		w.Returned()
		if did := w.take(); !slices.Equal(did, []string{"back"}) {
			t.Errorf("%q", did)
		}
	})
}

// A file that cannot be read is told, and supervision begins anew.
func TestBeginsAnewWithoutItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "supervisor.json")
	for _, content := range []string{"{", `{"v":99,"state":{"paused":true}}`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			w, _ := watchWithFile(t, file)
			if did := w.take(); len(did) != 1 || !strings.HasPrefix(did[0], "supervision begins anew") || w.Status().State != supervisor.Watching {
				t.Errorf("%q, %+v", did, w.Status())
			}
		})
	}
}

func TestEvaluatesEveryFiveSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		w.steps(4)
		if n := len(w.judge.windows); n != 0 {
			t.Errorf("%d evaluations after 4 steps", n)
		}
		w.steps(21)
		var sizes []int
		for _, window := range w.judge.windows {
			sizes = append(sizes, len(window.Steps))
		}
		if !slices.Equal(sizes, []int{5, 10, 15, 20, 20}) {
			t.Errorf("windows of %v", sizes)
		}
		if s := w.Status(); s.Steps != 25 || s.Judged != 5 || s.State != supervisor.Watching {
			t.Errorf("%+v", s)
		}
	})
}

func TestWhispersThenEscalatesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Correction, "a"), says(supervisor.ThinkDeeper, "b"), says(supervisor.Correction, "c"))
		w.steps(15)
		want := []string{"whisper CORRECTION a", "whisper THINK_DEEPER b", "escalate 3 corrections in a row did not help; the last one: c"}
		if did := w.take(); !slices.Equal(did, want) {
			t.Errorf("%q", did)
		}
		if s := w.Status(); s.State != supervisor.Paused || s.Failed != 3 {
			t.Errorf("%+v", s)
		}
		if told := w.judge.windows[1]; told.Whispered != "a" || told.Since != 5 {
			t.Errorf("the judge was told %q, %d steps ago", told.Whispered, told.Since)
		}
	})
}

// A correction counts once the agent has heard it. Until then there is no
// other, however long its turn lasts, and none that did not help.
func TestCorrectionsCountWhenTheyAreHeard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "supervisor.json")
	synctest.Test(t, func(t *testing.T) {
		w, stop := watchWithFile(t, file, says(supervisor.Correction, "a"), says(supervisor.Correction, "b"), says(supervisor.Correction, "c"), says(supervisor.ThinkDeeper, "d"))
		w.deaf = true
		w.steps(18)
		if did := w.take(); !slices.Equal(did, []string{"whisper CORRECTION a"}) {
			t.Errorf("%q", did)
		}
		if s := w.Status(); s.Failed != 1 || s.State != supervisor.Watching {
			t.Errorf("%+v", s)
		}
		if told := w.judge.windows[2]; told.Whispered != "" {
			t.Errorf("the judge was told that the agent heard %q", told.Whispered)
		}
		id := w.Unheard()
		stop()
		w, _ = watchWithFile(t, file, says(supervisor.ThinkDeeper, "d"))
		if w.Unheard() != id || w.Heard("another") || !w.Heard(id) || w.Heard(id) || w.Unheard() != "" {
			t.Errorf("%q was heard, then %q", id, w.Unheard())
		}
		w.steps(4)
		if did := w.take(); len(did) > 0 {
			t.Errorf("%q after four steps", did)
		}
		w.steps(1)
		if did := w.take(); !slices.Equal(did, []string{"whisper THINK_DEEPER d"}) {
			t.Errorf("%q", did)
		}
		if told := w.judge.windows[0]; told.Whispered != "a" || told.Since != 5 {
			t.Errorf("the judge was told %q, %d steps ago", told.Whispered, told.Since)
		}
	})
}

// A judge that calls a person is not held up by a correction that waits.
func TestEscalatesAboveACorrectionThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Correction, "a"), says(supervisor.Escalation, "lost"), says(supervisor.Correction, "b"))
		w.deaf = true
		w.steps(10)
		w.Returned()
		w.steps(5)
		if did := w.take(); !slices.Equal(did, []string{"whisper CORRECTION a", "escalate lost", "back"}) {
			t.Errorf("%q", did)
		}
	})
}

// A correction that cannot be told does not count.
func TestCorrectionThatCannotBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Correction, "a"), says(supervisor.Correction, "b"))
		w.lost = errors.New("the queue is full")
		w.steps(5)
		if did := w.take(); len(did) != 1 || !strings.Contains(did[0], "the queue is full") || w.Status().Failed != 0 || w.Unheard() != "" {
			t.Errorf("%q, %+v", did, w.Status())
		}
		w.lost = nil
		w.steps(5)
		if did := w.take(); !slices.Equal(did, []string{"whisper CORRECTION b"}) {
			t.Errorf("%q", did)
		}
	})
}

func TestAgentThatGetsOnComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Escalation, "lost"))
		w.steps(5)
		asked := len(w.judge.windows)
		for range 10 {
			w.Observe(step("", call("Bash", "ls", "a"))) // it is still stuck, which the free rules see
		}
		if did := w.take(); !slices.Equal(did, []string{"escalate lost"}) {
			t.Errorf("%q", did)
		}
		w.steps(5)
		if did := w.take(); !slices.Equal(did, []string{"back"}) {
			t.Errorf("%q", did)
		}
		if n := len(w.judge.windows); n != asked {
			t.Errorf("the judge was asked %d times while paused", n-asked)
		}
		w.steps(5)
		if n := len(w.judge.windows); n != asked+1 {
			t.Errorf("the judge was asked %d times after the agent came back", n-asked)
		}
	})
}

func TestPersonsMessageBringsItBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Escalation, "lost"), says(supervisor.Correction, "a"))
		w.steps(5)
		w.Returned()
		if did := w.take(); !slices.Equal(did, []string{"escalate lost", "back"}) {
			t.Errorf("%q", did)
		}
		w.steps(5)
		if did := w.take(); !slices.Equal(did, []string{"whisper CORRECTION a"}) {
			t.Errorf("%q", did)
		}
		if n := len(w.judge.windows[1].Steps); n != 5 {
			t.Errorf("%d steps in the window, want those since the message", n)
		}
	})
}

// A person who speaks often does not keep the agent from being judged: nothing
// is forgotten while evaluation goes on.
func TestMessagesDoNotWipeTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, says(supervisor.Correction, "a"), says(supervisor.Correction, "b"), says(supervisor.Correction, "c"))
		for range 15 {
			w.Returned()
			w.steps(1)
		}
		var sizes []int
		for _, window := range w.judge.windows {
			sizes = append(sizes, len(window.Steps))
		}
		if !slices.Equal(sizes, []int{5, 10, 15}) {
			t.Errorf("windows of %v", sizes)
		}
		did := w.take()
		if len(did) != 3 || did[0] != "whisper CORRECTION a" || !strings.HasPrefix(did[2], "escalate 3 corrections") {
			t.Errorf("%q", did)
		}
	})
}

// A verdict that became void is asked for again with the next step.
func TestVoidVerdictIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := says(supervisor.Correction, "void")
		slow.takes = 10 * time.Second
		w := watch(t, slow, says(supervisor.Correction, "a"))
		w.steps(5)
		w.Returned()
		time.Sleep(20 * time.Second) // of the bubble
		w.steps(1)
		if did := w.take(); !slices.Equal(did, []string{"whisper CORRECTION a"}) {
			t.Errorf("%q", did)
		}
		if n := len(w.judge.windows[1].Steps); n != 6 {
			t.Errorf("%d steps in the window", n)
		}
	})
}

func TestVerdictOnWhatWasBeforeAMessageIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := says(supervisor.Escalation, "lost")
		slow.takes = 10 * time.Second
		w := watch(t, slow)
		w.steps(5)
		w.Returned()
		time.Sleep(20 * time.Second) // of the bubble
		if did := w.take(); len(did) > 0 {
			t.Errorf("%q", did)
		}
	})
}

func TestErrorsChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := answer{takes: time.Hour}
		w := watch(t, says(supervisor.Correction, "a"), answer{err: errors.New("no network")}, hangs, says("FINE", "x"), says(supervisor.Correction, "b"), says(supervisor.Correction, "c"))
		w.steps(20)
		time.Sleep(2 * time.Minute) // of the bubble: the judge that hangs is given up
		synctest.Wait()
		if s := w.Status(); s.Errors != 3 || !strings.Contains(s.LastError, "'FINE' is no verdict") {
			t.Errorf("%+v", s)
		}
		w.steps(10)
		did := slices.DeleteFunc(w.take(), func(line string) bool { return strings.HasPrefix(line, "the supervisor could not judge: ") })
		if len(did) != 3 || did[1] != "whisper CORRECTION b" || !strings.HasPrefix(did[2], "escalate") {
			t.Errorf("%q", did)
		}
		if s := w.Status(); s.Errors != 3 || s.LastError != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestSlowJudgeNeverHoldsTheAgentUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := says(supervisor.OK, "")
		slow.takes = 30 * time.Second
		w := watch(t, slow)
		begun := time.Now()
		w.steps(5)
		for i := range 1000 {
			w.Observe(step(fmt.Sprint(i)))
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("observing took %v", took)
		}
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		s := w.Status()
		if s.Dropped != 900 || s.Steps != 1005 {
			t.Errorf("%+v", s)
		}
		last := w.judge.windows[len(w.judge.windows)-1]
		if text := last.Steps[len(last.Steps)-1].Text; text != "999" {
			t.Errorf("the newest step that was judged is %q", text)
		}
	})
}
