package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/testkit/need"

	"den/internal/screen/eventlog"
	"den/internal/session/cell"
	"den/internal/session/home"
)

// TestCellStress lets many clients run, fire, poll, interrupt and kill at
// once, and then asks of every cell that was ever accepted whether it ended
// once and with the right output, and of every refused one whether it left a
// trace. DEN_STRESS is how many clients and sessions, DEN_STRESS_TIME how long.
func TestCellStress(t *testing.T) {
	t.Parallel()
	need.Long(t, "takes ten seconds")
	many, long := 8, 4*time.Second
	if s := os.Getenv("DEN_STRESS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		many = n
	}
	if s := os.Getenv("DEN_STRESS_TIME"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		long = d
	}
	s := &stress{world: newWorld(t), seen: map[string]seen{}, tally: map[string]int{}}
	s.env = append(s.env, "LC_ALL=C.UTF-8")
	t.Cleanup(func() {
		for _, sl := range s.slots {
			if t.Failed() { // else finish has done it
				s.try("kill", sl.name, "--grace", "500ms")
			}
		}
	})
	var clients sync.WaitGroup
	for i := range many {
		s.slots = append(s.slots, &slot{shell: i%2 == 0})
	}
	for i := range many {
		clients.Go(func() { s.open(i) })
	}
	clients.Wait()
	s.end = time.Now().Add(long)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range many {
		clients.Go(func() { s.client(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	clients.Wait()
	s.finish()
	s.verify()
	t.Logf("%d sessions, %v", len(s.names), s.tally)
}

// stress is a world in a storm.
type stress struct {
	*world
	end   time.Time
	slots []*slot

	mu      sync.Mutex
	names   []string        // every session there was
	seen    map[string]seen // by cell: the last final answer that a client got
	refused []token
	sent    []token // of every cell that was not refused
	tally   map[string]int
}

// slot is a place for a session: a killed one is replaced.
type slot struct {
	shell bool
	mu    sync.Mutex
	name  string
	n     int
}

func (sl *slot) now() string {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.name
}

// token is the mark of one cell: in its code, and in its output if it has any.
type token struct{ session, word string }

type seen struct {
	cell.Result
	session string
}

// answer is what any verb may say with -j.
type answer struct {
	cell.Result
	Kind string `json:"kind"`
}

func (s *stress) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[what]++
}

// open starts the next session of a slot.
func (s *stress) open(i int) {
	sl := s.slots[i]
	sl.n++
	name := fmt.Sprintf("s%d-%d", i, sl.n)
	argv := []string{"python3", "-q"}
	if sl.shell {
		argv = []string{"bash", "--norc"}
	}
	if out, errOut, code := s.try(append([]string{"new", name, "--record-input", "all"}, argv...)...); code != 0 {
		s.t.Errorf("new %s: exit %d: %s%s", name, code, out, errOut)
	}
	// Python dies of a Ctrl-C that comes before its first prompt.
	if out, errOut, code := s.try("wait", name, "--ready"); code != 0 {
		state, _, _ := s.try("status", name, "-j")
		s.t.Errorf("%s does not get ready: exit %d: %s%s\n%s", name, code, out, errOut, state)
	}
	sl.name = name
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

// client does one thing after another to one session after another.
func (s *stress) client(id int, r *rand.Rand) {
	for n := 0; time.Now().Before(s.end) || !s.happened(); n++ {
		i := r.IntN(len(s.slots))
		sl := s.slots[i]
		name := sl.now()
		word := fmt.Sprintf("w%dx%dz", id, n)
		switch p := r.IntN(100); {
		case p < 45:
			s.give("run", name, word, sl.shell, r)
		case p < 65:
			s.give("fire", name, word, sl.shell, r)
		case p < 80:
			s.see(name, "poll", name)
		case p < 98:
			s.see(name, "int", name)
		default:
			s.kill(i)
		}
	}
}

// happened reports whether there is something to verify.
func (s *stress) happened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) > 0 && len(s.refused) > 0
}

// give gives a session a cell that says the word: now, soon, or never.
func (s *stress) give(verb, name, word string, shell bool, r *rand.Rand) {
	var code string
	long := false
	switch p := r.IntN(10); {
	case shell && p < 6:
		code = "echo token-" + word
	case shell && p < 9:
		code = "sleep 0.05; echo token-" + word
	case shell:
		code, long = "sleep 1000; echo token-"+word, true
	case p < 6:
		code = "print('token-" + word + "')"
	case p < 9:
		code = "import time; time.sleep(0.05); print('token-" + word + "')"
	default:
		code, long = "import time; time.sleep(1000); print('token-"+word+"')", true
	}
	args := []string{verb, name, code}
	if verb == "run" && long {
		args = append(args, "-t", "100ms")
	}
	a := s.see(name, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Kind == "busy" {
		s.refused = append(s.refused, token{name, word})
	} else {
		s.sent = append(s.sent, token{name, word})
	}
}

// see runs a verb and checks its answer against what was seen before.
func (s *stress) see(name string, args ...string) answer {
	out, errOut, code := s.try(append(args, "-j")...)
	var a answer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		s.t.Errorf("den %s: exit %d: %v\n%s%s", strings.Join(args, " "), code, err, out, errOut)
		return a
	}
	how := a.Kind
	if how == "" {
		how = string(a.Status)
	}
	s.count(args[0] + " " + how)
	switch {
	case a.Kind != "":
		// Refused, or the session went away under it; no cell yet for poll.
		want := map[string]int{"busy": 5, "not_running": 4, "not_found": 3, "unreachable": 6}[a.Kind]
		if want == 0 || want != code || want == 3 && args[0] != "poll" {
			s.t.Errorf("den %s: exit %d: %s", strings.Join(args, " "), code, out)
		}
	case a.Final():
		s.mu.Lock()
		defer s.mu.Unlock()
		if was, ok := s.seen[a.CellID]; ok && (was.Status != a.Status || was.Output != a.Output) {
			s.t.Errorf("cell %s of %s ended twice: %+v and then %+v", a.CellID, name, was.Result, a.Result)
		}
		s.seen[a.CellID] = seen{a.Result, name}
	}
	return a
}

// kill ends a slot's session, once, and opens another.
func (s *stress) kill(i int) {
	sl := s.slots[i]
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if out, errOut, code := s.try("kill", sl.name, "--grace", "500ms"); code != 0 {
		s.t.Errorf("kill %s: exit %d: %s%s", sl.name, code, out, errOut)
	}
	s.count("kill")
	s.open(i)
}

// finish interrupts what still runs, asks each session for one more cell, and ends it.
func (s *stress) finish() {
	for _, sl := range s.slots {
		out, errOut, code := s.try("int", sl.name, "-j")
		if code != 0 {
			s.t.Errorf("int %s: exit %d: %s%s", sl.name, code, out, errOut)
		}
		last := "print('la' + 'st')"
		if sl.shell {
			last = "echo la''st"
		}
		if a := s.see(sl.name, "run", sl.name, last); a.Status != cell.Done || a.Output != "last" {
			s.t.Errorf("%s does not work any more: %+v", sl.name, a)
		}
		s.do("kill", sl.name, "--grace", "500ms")
	}
}

// verify looks at every session as it lies on the disk.
func (s *stress) verify() {
	words := map[string]map[string]bool{} // by session: those that were accepted
	cells := map[string]bool{}
	for _, name := range s.names {
		d, err := s.home.Find(name)
		if err != nil {
			s.t.Fatal(err)
		}
		words[name] = s.verifySession(name, d, cells)
	}
	for id, was := range s.seen {
		if !cells[id] {
			s.t.Errorf("cell %s of %s was answered, and is not kept", id, was.session)
		}
	}
	for _, t := range s.refused {
		if words[t.session][t.word] {
			s.t.Errorf("%s: %s was refused, and is there", t.session, t.word)
		}
	}
	s.tally["kept"] = len(cells)
}

// verifySession checks the cells and the log of one session, and returns the
// words that its log knows.
func (s *stress) verifySession(name string, d home.Dir, cells map[string]bool) map[string]bool {
	ends, log := s.readLog(d)
	kept, err := filepath.Glob(filepath.Join(d.Cells(), "*.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	known := map[string]bool{}
	for _, path := range kept {
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		cells[id], known[id] = true, true
		rec, err := cell.Store{Dir: d.Cells()}.Load(id)
		if err != nil {
			s.t.Error(err)
			continue
		}
		out, _, _ := s.try("poll", name, id, "-j")
		var r cell.Result
		if err := json.Unmarshal([]byte(out), &r); err != nil || !r.Final() || r.WaitingFor != "" {
			s.t.Errorf("%s: cell %s (%s) has no end: %s", name, id, rec.Code, out)
		}
		if was, ok := s.seen[id]; ok && (was.Status != r.Status || was.Output != r.Output) {
			s.t.Errorf("%s: cell %s: was %+v and is %+v", name, id, was.Result, r)
		}
		want := stressOutput(rec.Code)
		cut := r.By == cell.ByExit && strings.HasPrefix(want, r.Output) // the session was killed meanwhile
		cut = cut || r.Interrupted
		if r.Status == cell.Done && r.Output != want && !cut {
			s.t.Errorf("%s: cell %s (%s) gave %q by %s, want %q", name, id, rec.Code, r.Output, r.By, want)
		}
		if r.Status == cell.Done && !cut && !strings.Contains(log, want) {
			s.t.Errorf("%s: cell %s (%s) is done, and the log does not know it", name, id, rec.Code)
		}
		switch n := len(ends[id]); {
		case n > 1:
			s.t.Errorf("%s: cell %s (%s) ended %d times in the log: %v", name, id, rec.Code, n, ends[id])
		case n == 1 && ends[id][0] != string(r.Status):
			s.t.Errorf("%s: cell %s (%s) is %s, in the log %s", name, id, rec.Code, r.Status, ends[id][0])
		case n == 0:
			s.t.Errorf("%s: cell %s (%s) is %s, and the log has no end of it", name, id, rec.Code, r.Status)
		}
	}
	for id := range maps.Keys(ends) {
		if !known[id] {
			s.t.Errorf("%s: cell %s is in the log, and is not kept", name, id)
		}
	}
	s.verifyGone(name, d)
	there := map[string]bool{}
	for _, t := range slices.Concat(s.refused, s.sent) {
		if t.session == name && strings.Contains(log, t.word) {
			there[t.word] = true
		}
	}
	return there
}

// stressOutput is what a cell's code prints.
func stressOutput(code string) string {
	if i := strings.Index(code, "token-"); i >= 0 {
		return strings.TrimSuffix(code[i:], "')")
	}
	return "last"
}

// readLog returns the ends of each cell, and all that was typed and printed.
func (s *stress) readLog(d home.Dir) (ends map[string][]string, text string) {
	log, err := eventlog.Open(d.Log())
	if err != nil {
		s.t.Fatal(err)
	}
	ends = map[string][]string{}
	var all strings.Builder
	for ev, err := range log.Events(0) {
		if err != nil {
			s.t.Error(err)
			break
		}
		if ev.Code != eventlog.Cell {
			all.Write(ev.Data)
			continue
		}
		var c struct {
			Cell   string      `json:"cell_id"`
			Status cell.Status `json:"status"`
		}
		if err := json.Unmarshal(ev.Data, &c); err != nil {
			s.t.Error(err)
		}
		if _, ok := ends[c.Cell]; !ok {
			ends[c.Cell] = nil // fired
		}
		if (cell.Result{Status: c.Status}).Final() {
			ends[c.Cell] = append(ends[c.Cell], string(c.Status))
		}
	}
	return ends, all.String()
}

// verifyGone demands that a session is over and its host with it.
func (s *stress) verifyGone(name string, d home.Dir) {
	m, err := d.Load()
	if err != nil {
		s.t.Fatal(err)
	}
	if !m.Status.Final() {
		s.t.Errorf("%s is %s", name, m.Status)
	}
	gone, err := d.Gone(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	<-gone
	if m.HostPID != 0 && !errors.Is(syscall.Kill(m.HostPID, 0), syscall.ESRCH) {
		if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.HostPID)); err == nil && strings.Contains(string(raw), d.ID) {
			s.t.Errorf("the host of %s still runs: %d", name, m.HostPID)
		}
	}
}
