package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"den/internal/keeper"
	"den/internal/testkit/need"
)

// storm is a workspace under attack.
type storm struct {
	*chaos
	config  stormFile
	callers [][]string // the environments of those who call den
	calls   atomic.Int64
	figures figures
	watch   watch

	mu     sync.Mutex // guards nudges and what they point to
	nudges map[string]*given
}

// Agents, their hosts, shims and tmux servers, and keepers, most often in the
// middle of a start, are killed; the workspace's file is edited and ruined;
// all goes down and up again; calls come from different environments. All the
// time nobody may see an agent twice. At the end what is wanted is what is
// true, every start went through all of its stages, and every nudge was read
// at most once; exactly once and unchanged where it was reported taken.
//
// DEN_CHAOS sets for how long, DEN_CHAOS_SEED repeats the choices of a run, as
// far as time lets them be the same. 'make chaos' takes three minutes each,
// 'make test' the short form.
func TestChaos(t *testing.T) {
	t.Parallel()
	need.Program(t, "perl")
	long := shortStorm
	if s := os.Getenv("DEN_CHAOS"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatalf("DEN_CHAOS: %v", err)
		}
	}
	eachKind(t, func(t *testing.T, kind string) {
		if long == shortStorm { // figures of a long one are compared
			t.Parallel()
		}
		seed := rand.Uint64()
		if s := os.Getenv("DEN_CHAOS_SEED"); s != "" {
			var err error
			if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
				t.Fatalf("DEN_CHAOS_SEED: %v", err)
			}
		}
		t.Logf("seed %d", seed)
		s := newStorm(t, kind)
		s.must("up", "--wait", "-t", "60s")
		s.rage(seed, long)
		s.check()
		s.must("down", "-t", "60s")
		if left := s.recorders(); len(left) > 0 {
			t.Errorf("after 'down' there are %v", left)
		}
	})
}

// shortStorm is long enough for each kind of strike on most runs.
const shortStorm = 20 * time.Second

func newStorm(t *testing.T, kind string) *storm {
	t.Helper()
	var others []string // the environments of other callers; removed after the last 'down', which may need one
	for _, name := range []string{"DEN_HOME=", "DEN_RUN_DIR=", "XDG_RUNTIME_DIR="} {
		dir, err := os.MkdirTemp("/tmp", "den-e-") // short: sockets go here
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		others = append(others, name+dir)
	}
	s := &storm{chaos: newChaos(t, kind, 0), nudges: map[string]*given{}, config: stormFile{kind: kind, env: map[string]int{}}}
	s.watch = watch{storm: s, seen: map[string]time.Time{}}
	s.callers = [][]string{s.env}
	for _, other := range others {
		s.callers = append(s.callers, append(slices.Clone(s.env), other))
	}
	s.write(filepath.Join(s.dir, "recorder.pl"), recorder)
	s.write(filepath.Join(s.dir, "script.sh"), "#!/bin/sh\n"+slowly(s.traces, "script-runs", "script-ran")+"\n")
	for _, name := range append(lasting[:len(lasting):len(lasting)], visitors...) {
		s.write(s.promptFile(name), "prompt\n")
	}
	s.write(s.file(), s.render())
	t.Cleanup(s.explain) // before the 'down' of newChaos
	return s
}

// slow is how long an agent may be missing before a run that passed is
// explained as well: nothing in a storm should take so long.
const slow = 15 * time.Second

// explain shows what keepers wrote last and what the processes do, where the
// test has failed or an agent was missing for long.
func (s *storm) explain() {
	if !s.t.Failed() && s.watch.longestMissing() < slow {
		return
	}
	s.explainProcesses()
	for _, name := range []string{"events.jsonl", "keeper.log"} {
		raw, err := os.ReadFile(filepath.Join(s.dir, ".den", name))
		lines := slices.Collect(strings.Lines(string(raw)))
		s.t.Logf("the end of %s (%v):\n%s", name, err, strings.Join(lines[max(0, len(lines)-200):], ""))
	}
}

// call runs den for the next of the callers. It may be called from any
// goroutine.
func (s *storm) call(args ...string) (stdout, stderr string, code int) {
	w := *s.world
	w.env = s.callers[int(s.calls.Add(1)-1)%len(s.callers)]
	return w.try(args...)
}

// must is call for what has to succeed.
func (s *storm) must(args ...string) string {
	s.t.Helper()
	out, errOut, code := s.call(args...)
	if code != 0 {
		s.t.Fatalf("den %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// rage attacks for so long, and then brings everything to rest.
func (s *storm) rage(seed uint64, long time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	talking, hush := context.WithTimeout(ctx, long)
	var callers, watching sync.WaitGroup
	defer func() { // also when the test fails in the middle
		hush()
		callers.Wait()
		cancel()
		watching.Wait()
	}()
	watching.Go(func() { s.watch.run(ctx) })
	for i := range 2 {
		callers.Go(func() { s.giveNudges(talking, i, rand.New(rand.NewPCG(seed, uint64(2+i)))) })
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for talking.Err() == nil {
		s.strike(rnd)
		s.noteRecords()
	}
	callers.Wait()
	s.rest()
}

// rest returns when all agents that ever were run, and no nudge is on its way.
func (s *storm) rest() {
	s.t.Helper()
	s.config.visitors = visitors
	s.write(s.file(), s.render())
	s.must("reload")
	s.must("up", "--wait", "-t", "60s")
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		pending := s.noteRecords()
		if len(pending) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("nudges stay on their way: %v\n%s", pending, s.must("ps"))
		}
	}
}

func (s *storm) check() {
	s.t.Helper()
	if raw, err := os.ReadFile(filepath.Join(s.traces, "doubles")); err == nil {
		s.t.Errorf("agents ran twice at once: %q", raw)
	}
	s.checkAgents()
	s.checkEvents()
	s.checkNudges()
	starts := 0
	for _, name := range append(lasting[:len(lasting):len(lasting)], visitors...) {
		starts += strings.Count(strings.Join(s.stagesOf(name), " "), "started")
	}
	s.t.Logf("%d starts; %v\n%v", starts, &s.watch, &s.figures)
}

// checkAgents holds what runs against what is wanted.
func (s *storm) checkAgents() {
	s.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(s.must("ps", "-j")), &ps); err != nil {
		s.t.Fatal(err)
	}
	for _, a := range ps.Agents {
		if a.Wanted != keeper.Running || a.Actual != keeper.Running {
			s.t.Errorf("%+v", a)
		}
		// The set-up of the session that runs is complete. Where nobody sees a
		// prompt, the set-up begins before the program says that it has started.
		want := stages[2:]
		of := s.stagesOf(a.Name)
		of = of[max(0, len(of)-len(want)):]
		setUp := slices.DeleteFunc(slices.Clone(of), func(stage string) bool { return stage == "started" })
		if len(setUp) == len(of) || !slices.Equal(setUp, want[1:]) {
			s.t.Errorf("the last start of %s went through %v, want %v", a.Name, of, want)
		}
	}
	if running := s.recorders(); len(running) != len(ps.Agents) || len(ps.Agents) != len(lasting)+len(visitors) {
		s.t.Errorf("%d agents run: %v", len(ps.Agents), running)
	}
}

// checkEvents reads all that keepers have written down: no number is missing,
// nobody was ended for a ruined file, and what was said of nudges is noted.
func (s *storm) checkEvents() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := uint64(1)
	for line := range strings.Lines(s.must("agent", "logs", "-j")) {
		var e keeper.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != next {
			s.t.Fatalf("event %d: %s %v", next, line, err)
		}
		next++
		session, _ := e.Detail["session"].(string)
		switch {
		case e.Type == keeper.EventNudged:
			id, _ := e.Detail["id"].(string)
			s.reportedLocked(id, e.Why)
		case slices.Contains(lasting, e.Agent) && strings.Contains(e.Why, "the workspace has it no more"),
			e.Type == keeper.EventOrphan && slices.ContainsFunc(lasting, func(name string) bool { return strings.HasSuffix(session, "-"+name) }):
			s.t.Errorf("an agent was ended that always was in the file: %s", line)
		}
		switch e.Type {
		case keeper.EventStartFailed, keeper.EventQuarantined, keeper.EventHeld, keeper.EventRefused, keeper.EventReloaded, keeper.EventAdopted:
			s.figures.add("events " + e.Type)
		}
	}
}

// figures counts what happened.
type figures struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (f *figures) add(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[what]++
}

func (f *figures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(f.counts)) {
		lines = append(lines, fmt.Sprintf("%6d %s", f.counts[what], what))
	}
	return strings.Join(lines, "\n")
}
