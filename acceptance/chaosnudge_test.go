package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"den/internal/keeper"
)

// given is a nudge as its caller knows it.
type given struct {
	agent, text string
	accepted    bool     // a call succeeded
	reported    []string // every status that somebody was told
}

// giveNudges gives agents messages that nobody else gets, one after the other,
// until the context ends. A call that fails is repeated with the same id.
func (s *storm) giveNudges(ctx context.Context, caller int, rnd *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("n%d.%d", caller, n)
		names := lasting
		if rnd.IntN(8) == 0 {
			names = visitors // may not be there
		}
		g := &given{agent: names[rnd.IntN(len(names))], text: id + " " + randomText(rnd)}
		s.mu.Lock()
		s.nudges[id] = g
		s.mu.Unlock()
		for try := 0; try < 4 && !s.giveOnce(rnd, id, g); try++ {
			s.figures.add("nudge calls that failed")
		}
		time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond) // not all at once
	}
}

func (s *storm) giveOnce(rnd *rand.Rand, id string, g *given) bool {
	args := []string{"agent", "nudge", g.agent, g.text, "--id", id, "-j", "-t", "5s"}
	if rnd.IntN(2) == 0 {
		args = append(args, "--no-wait")
	}
	out, _, code := s.call(args...)
	if code != 0 {
		return false
	}
	var n keeper.Nudged
	if err := json.Unmarshal([]byte(out), &n); err != nil || n.ID != id {
		s.t.Errorf("nudge %s: %s %v", id, out, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g.accepted = true
	g.reported = append(g.reported, n.Status)
	return true
}

// randomText is one line, at times a long one.
func randomText(rnd *rand.Rand) string {
	const letters = `abcdefghijklmnopqrstuvwxyz 0123456789 "'$\{}[]<>|&;!?*~#%^äß€漢`
	runes := []rune(letters)
	length := rnd.IntN(60)
	if rnd.IntN(10) == 0 {
		length = rnd.IntN(1000)
	}
	var b strings.Builder
	for range length {
		b.WriteRune(runes[rnd.IntN(len(runes))])
	}
	return b.String() + "."
}

// record is a nudge as the keeper keeps it.
type record struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// noteRecords notes the statuses that stand on disk, and returns the nudges
// that are still on their way. The keeper forgets the oldest that are over.
func (s *storm) noteRecords() (pending []string) {
	files, err := filepath.Glob(filepath.Join(s.dir, ".den", "nudges", "*", "*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // it has just been forgotten
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			s.t.Errorf("%s: %v", f, err)
		}
		if r.State == "queued" || r.State == "sending" {
			pending = append(pending, r.ID+": "+r.State+" "+r.Reason)
		}
		s.reportedLocked(r.ID, r.State)
	}
	return pending
}

// reportedLocked notes a status. First words are nobody's here.
func (s *storm) reportedLocked(id, status string) {
	if g := s.nudges[id]; g != nil && !slices.Contains(g.reported, status) {
		g.reported = append(g.reported, status)
	}
}

// checkNudges holds what agents have read against what was said of it.
func (s *storm) checkNudges() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	read := map[string]map[string]int{}
	for _, agent := range append(lasting[:len(lasting):len(lasting)], visitors...) {
		read[agent] = s.linesRead(agent)
	}
	for id, g := range s.nudges {
		s.checkNudge(id, g, read[g.agent][g.text])
		delete(read[g.agent], g.text)
	}
	for agent, lines := range read {
		for line := range lines {
			if !strings.HasPrefix(line, firstWords) || !strings.HasSuffix(line, " of "+agent) {
				s.t.Errorf("agent %s read what nobody said: %q", agent, line)
			}
		}
	}
}

func (s *storm) checkNudge(id string, g *given, times int) {
	s.t.Helper()
	last := "never accepted"
	for _, status := range []string{"queued", "sending", "sent", "failed", "taken", "answered"} { // the last one wins
		if slices.Contains(g.reported, status) {
			last = status
		}
	}
	took := last == "taken" || last == "answered"
	switch {
	case times > 1:
		s.t.Errorf("nudge %s (%s) was read %d times by %s", id, last, times, g.agent)
	case took && times == 0:
		s.t.Errorf("nudge %s was reported %s, and %s never read %q", id, last, g.agent, g.text)
	case times == 0 && last != "sent" && last != "failed" && g.accepted:
		s.t.Errorf("nudge %s was accepted and is lost: it is %s", id, last)
	case times == 1 && last == "failed":
		s.t.Errorf("nudge %s is said to be failed, and %s read it", id, g.agent)
	}
	s.figures.add("nudges " + last)
	if times == 1 && !took {
		s.figures.add("nudges " + last + " that were read")
	}
}
