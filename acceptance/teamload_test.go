package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/fault"
	"den/internal/irc"
	"den/internal/keeper"
)

// teamLoad is how much is asked of a team.
type teamLoad struct {
	agents, mentions, harnessKills int
}

// Every mention gets its answer, once, from the agent that was asked, while
// harnesses are killed and the keeper with its server is killed and started
// again. DEN_LOAD=1 ('make load') is the large form.
func TestTeamUnderLoad(t *testing.T) {
	load := teamLoad{agents: 3, mentions: 60, harnessKills: 2}
	if os.Getenv("DEN_LOAD") != "" {
		load = teamLoad{agents: 50, mentions: 5000, harnessKills: 10}
	}
	w := newWorld(t)
	dir := t.TempDir()
	w.env = append(w.env, "DEN_WORKSPACE="+filepath.Join(dir, "den.toml"))
	writeTeam(t, dir, load.agents)
	w.do("up")
	t.Cleanup(func() { w.try("down") })
	team := &team{t: t, w: w, dir: dir, load: load, heard: map[string]int{}, all: make(chan struct{})}
	team.join()
	team.ask(0, load.mentions/2)
	team.killKeeper()
	team.ask(load.mentions/2, load.mentions)
	team.awaitAnswers()
	team.fence()
	for text, n := range team.heard {
		if n != 1 {
			t.Errorf("%q was answered %d times", text, n)
		}
	}
}

func writeTeam(t *testing.T, dir string, agents int) {
	t.Helper()
	var file strings.Builder
	file.WriteString("[workspace]\nname = \"load\"\n")
	for i := range agents {
		fmt.Fprintf(&file, "[[agents]]\nname = \"%s\"\nagent = \"script\"\nstart_command = \"sed -n 's/.*say //p'\"\nchannels = [\"#load\"]\n", agentName(i))
	}
	if err := os.WriteFile(filepath.Join(dir, "den.toml"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func agentName(i int) string { return fmt.Sprintf("a%02d", i) }

// team is a workspace of agents and somebody who asks them.
type team struct {
	t      *testing.T
	w      *world
	dir    string
	load   teamLoad
	person *irc.Client

	mu    sync.Mutex
	heard map[string]int // answers: "agent: text"
	all   chan struct{}  // closed when all are there
	once  sync.Once      // closes it
}

func (m *team) ps() keeper.Ps {
	m.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(m.w.do("ps", "-j")), &ps); err != nil {
		m.t.Fatal(err)
	}
	return ps
}

// join has the person enter the channel, and waits until all agents are there.
func (m *team) join() {
	m.t.Helper()
	limits := irc.ClientLimits{LineRate: 1e6, LineBurst: 1e6, Queue: 10000, Events: 1 << 20, FirstWait: 20 * time.Millisecond, LongWait: 200 * time.Millisecond, History: 100000}
	var err error
	m.person, err = irc.Dial(m.t.Context(), irc.ClientConfig{Address: m.ps().Server.Address, Nick: "person", Channels: []irc.ChannelKey{{Name: "#load"}}, Limits: limits})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(m.person.Close)
	if err := m.person.Join(m.t.Context(), "#load", ""); err != nil {
		m.t.Fatal(err)
	}
	m.awaitMembers()
	go m.listen() // ends with the person
}

// awaitMembers returns when all agents are in the channel.
func (m *team) awaitMembers() {
	m.t.Helper()
	for {
		users, err := m.person.Who(m.t.Context(), "#load")
		if err == nil && len(users) == m.load.agents+1 {
			return
		}
		if m.t.Context().Err() != nil {
			m.t.Fatalf("%d users, %v", len(users), err)
		}
		time.Sleep(20 * time.Millisecond) // the server tells when asked
	}
}

func (m *team) listen() {
	for {
		e, err := m.person.Next(context.Background())
		if err != nil {
			return
		}
		if e.Kind == irc.EventDropped {
			m.t.Errorf("%d events were dropped", e.Dropped)
		}
		if e.Kind != irc.EventMessage || e.Own {
			continue
		}
		m.mu.Lock()
		m.heard[e.From.Nick+": "+e.Text]++
		complete := len(m.heard) == m.load.mentions
		m.mu.Unlock()
		if complete {
			m.once.Do(func() { close(m.all) })
		}
	}
}

// ask sends mentions, and kills harnesses meanwhile.
func (m *team) ask(from, to int) {
	m.t.Helper()
	every := max((to-from)/max(m.load.harnessKills/2, 1), 1)
	for i := from; i < to; i++ {
		agent := agentName(i % m.load.agents)
		m.say(fmt.Sprintf("@%s say number %d", agent, i))
		if (i-from)%every == every/2 {
			m.killHarness(rand.IntN(m.load.agents))
		}
	}
}

// say sends a line until the server has certainly taken it.
func (m *team) say(text string) {
	m.t.Helper()
	for {
		_, err := m.person.Send(m.t.Context(), "#load", text)
		switch {
		case err == nil:
			return
		case m.t.Context().Err() != nil || fault.KindOf(err) == fault.Usage:
			m.t.Fatal(err)
		}
		if m.said(text) {
			return
		}
	}
}

// said looks into the history for a line whose fate is not known.
func (m *team) said(text string) bool {
	events, err := m.person.History(m.t.Context(), "#load", irc.Cursor{}, 200)
	if err != nil {
		return false
	}
	for _, e := range events {
		if e.Own && e.Text == text {
			return true
		}
	}
	return false
}

// killHarness kills the process that keeps an agent, in the middle of whatever
// it does.
func (m *team) killHarness(i int) {
	m.t.Helper()
	lock := filepath.Join(m.dir, ".den", "minds", agentName(i), "harness.lock")
	for _, pid := range openedBy(m.t, lock) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			m.t.Error(err)
		}
	}
}

// openedBy lists the processes that have a file open.
func openedBy(t *testing.T, path string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == path {
			if pid, err := strconv.Atoi(strings.Split(link, "/")[2]); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// killKeeper kills the keeper, and with it the server, and starts another.
func (m *team) killKeeper() {
	m.t.Helper()
	if err := syscall.Kill(m.ps().Keeper, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	m.w.do("up")
}

func (m *team) awaitAnswers() {
	m.t.Helper()
	select {
	case <-m.all:
	case <-m.t.Context().Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		m.t.Fatalf("%d of %d answers", len(m.heard), m.load.mentions)
	}
}

// fence asks every agent once more: what it said twice, it said before.
func (m *team) fence() {
	m.t.Helper()
	for i := range m.load.agents {
		if out := m.w.do("agent", "ask", agentName(i), "-t", "2m", "say done"); out != "done\n" {
			m.t.Errorf("%s: %q", agentName(i), out)
		}
	}
}
