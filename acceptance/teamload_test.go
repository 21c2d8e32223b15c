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
	"syscall"
	"testing"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
	"den/internal/keeper"
)

// teamLoad is how much is asked of a team, and by how many.
type teamLoad struct {
	agents, askers, channels, mentions, harnessKills int
	// patience is how long the test waits for all that must come. Nothing is
	// measured by it.
	patience time.Duration
}

// endPatience is how long the test waits for what is to end with it.
const endPatience = 2 * time.Minute

// Several people ask several agents, each in a channel of their own and in
// private, all at once, while harnesses are killed and the keeper with its
// server is killed and started again. Every question gets its answer, once,
// from the agent that was asked, where it was asked, and nobody else hears what
// was private. DEN_LOAD=1 ('make load') is the large form.
func TestTeamUnderLoad(t *testing.T) {
	load := teamLoad{agents: 3, askers: 4, channels: 2, mentions: 60, harnessKills: 2, patience: 5 * time.Minute}
	if os.Getenv("DEN_LOAD") != "" {
		load = teamLoad{agents: 50, askers: 20, channels: 5, mentions: 5000, harnessKills: 10, patience: 20 * time.Minute}
	}
	ctx, cancel := context.WithTimeout(t.Context(), load.patience)
	defer cancel()
	dir := t.TempDir()
	w := newWorld(t).with("DEN_WORKSPACE=" + filepath.Join(dir, "den.toml")).within(ctx)
	writeTeam(t, dir, load)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		defer cancel()
		w.within(ctx).try("down")
	})
	w.do("up")
	team := &team{t: t, ctx: ctx, w: w, dir: dir, load: load, killed: map[int]bool{}}
	team.join()
	half := load.mentions / 2
	team.ask(0, half, load.harnessKills/2)
	team.killKeeper()
	team.ask(half, load.mentions, load.harnessKills-load.harnessKills/2)
	team.awaitAnswers()
	team.fence()
	team.check()
}

func writeTeam(t *testing.T, dir string, load teamLoad) {
	t.Helper()
	var channels []string
	for i := range load.channels {
		channels = append(channels, strconv.Quote(channelName(i)))
	}
	var file strings.Builder
	file.WriteString("[workspace]\nname = \"load\"\n")
	for i := range load.agents {
		fmt.Fprintf(&file, "[[agents]]\nname = \"%s\"\nagent = \"script\"\nstart_command = \"sed -n 's/.*say //p'\"\nchannels = [%s]\n", agentName(i), strings.Join(channels, ", "))
	}
	if err := os.WriteFile(filepath.Join(dir, "den.toml"), []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func agentName(i int) string   { return fmt.Sprintf("a%02d", i) }
func channelName(i int) string { return fmt.Sprintf("#load%d", i) }

// team is a workspace of agents and those who ask them.
type team struct {
	t      *testing.T
	ctx    context.Context // ends when nothing is worth waiting for any more
	w      *world
	dir    string
	load   teamLoad
	askers []*asker
	killed map[int]bool // harnesses
}

// heardKey is who said what where.
type heardKey struct{ from, target, text string }

// asker is a person in one of the channels.
type asker struct {
	nick, channel string
	client        *irc.Client

	mu    sync.Mutex // guards the fields below
	heard map[heardKey]int
	due   map[heardKey]bool // the answers that must be heard
	news  chan struct{}     // closed and made anew with each message
}

func (m *team) ps() keeper.Ps {
	m.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(m.w.do("ps", "-j")), &ps); err != nil {
		m.t.Fatal(err)
	}
	return ps
}

// join has the people enter their channels, and waits until all agents are
// there.
func (m *team) join() {
	m.t.Helper()
	address := m.ps().Server.Socket
	limits := irc.ClientLimits{LineRate: 1e6, LineBurst: 1e6, Queue: 10000, Events: 1 << 20, FirstWait: 20 * time.Millisecond, LongWait: 200 * time.Millisecond, History: 100000}
	for i := range m.load.askers {
		a := &asker{nick: fmt.Sprintf("p%02d", i), channel: channelName(i % m.load.channels), heard: map[heardKey]int{}, due: map[heardKey]bool{}, news: make(chan struct{})}
		var err error
		a.client, err = irc.Dial(m.ctx, irc.ClientConfig{Address: address, Nick: a.nick, Channels: []irc.ChannelKey{{Name: a.channel}}, Limits: limits})
		if err != nil {
			m.t.Fatal(err)
		}
		var listening sync.WaitGroup
		listening.Go(func() { m.listen(a) })
		m.t.Cleanup(func() {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				a.client.Close()
				listening.Wait()
			}()
			select {
			case <-ended:
			case <-time.After(endPatience):
				m.t.Errorf("the client of %s does not end", a.nick)
			}
		})
		if err := a.client.Join(m.ctx, a.channel, ""); err != nil {
			m.t.Fatal(err)
		}
		m.askers = append(m.askers, a)
	}
	for _, a := range m.askers {
		m.awaitMembers(a)
	}
}

// awaitMembers returns when all agents are in the asker's channel.
func (m *team) awaitMembers(a *asker) {
	m.t.Helper()
	for {
		users, err := a.client.Who(m.ctx, a.channel)
		agents := 0
		for _, u := range users {
			if strings.HasPrefix(u.Nick, "a") {
				agents++
			}
		}
		if err == nil && agents == m.load.agents {
			return
		}
		if m.ctx.Err() != nil {
			m.t.Fatalf("%d agents in %s, %v", agents, a.channel, err)
		}
		time.Sleep(20 * time.Millisecond) // the server tells when asked
	}
}

func (m *team) listen(a *asker) {
	for {
		e, err := a.client.Next(context.Background())
		if err != nil {
			return
		}
		if e.Kind == irc.EventDropped {
			m.t.Errorf("%s: %d events were dropped", a.nick, e.Dropped)
		}
		if e.Kind == irc.EventMessage && !e.Own && strings.HasPrefix(e.From.Nick, "a") {
			a.hear(heardKey{e.From.Nick, e.Target, e.Text})
		}
	}
}

func (a *asker) hear(k heardKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard[k]++
	close(a.news)
	a.news = make(chan struct{})
}

// expect notes an answer that the asker must hear.
func (a *asker) expect(k heardKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due[k] = true
}

// ask has all askers ask at once, from one number of a question to another, and
// kills harnesses meanwhile.
func (m *team) ask(from, to, kills int) {
	m.t.Helper()
	asked := make(chan error, to-from) // room for all: nobody waits for a test that gave up
	var asking sync.WaitGroup
	for p := range m.askers {
		asking.Go(func() {
			for i := from; i < to; i++ {
				if i%len(m.askers) == p {
					asked <- m.question(p, i)
				}
			}
		})
	}
	go func() {
		asking.Wait()
		close(asked)
	}()
	n, every := 0, max((to-from)/max(kills, 1), 1)
	var failed error
	for err := range asked {
		if err != nil {
			failed = err
		}
		if n++; n%every == every/2+1 && kills > 0 {
			kills--
			m.killHarness(rand.IntN(m.load.agents))
		}
	}
	if failed != nil {
		m.t.Fatal(failed)
	}
	if kills > 0 {
		m.t.Fatalf("%d harnesses were not killed: there were too few questions", kills)
	}
}

// question asks the question of this number: every third one in private.
func (m *team) question(p, i int) error {
	a, agent := m.askers[p], agentName(i%m.load.agents)
	answer := fmt.Sprintf("number %d of %s", i, a.nick)
	if i%3 == 0 {
		a.expect(heardKey{agent, a.nick, answer})
		return m.say(a, agent, "say "+answer)
	}
	for _, other := range m.askers { // all who are there hear it
		if other.channel == a.channel {
			other.expect(heardKey{agent, a.channel, answer})
		}
	}
	return m.say(a, a.channel, "@"+agent+" say "+answer)
}

// say sends a line until the server has certainly taken it.
func (m *team) say(a *asker, target, text string) error {
	for {
		_, err := a.client.Send(m.ctx, target, text)
		if err == nil || m.ctx.Err() != nil || fault.KindOf(err) == fault.Usage {
			return err
		}
		if m.said(a, target, text) {
			return nil
		}
	}
}

// said looks into the history for a line whose fate is not known.
func (m *team) said(a *asker, target, text string) bool {
	events, err := a.client.History(m.ctx, target, irc.Cursor{}, 200)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(events, func(e irc.Event) bool { return e.Own && e.Text == text })
}

// killHarness kills the process that keeps an agent, in the middle of whatever
// it does, and sees to it that it is dead.
func (m *team) killHarness(i int) {
	m.t.Helper()
	lock := filepath.Join(m.dir, ".den", "minds", agentName(i), "harness.lock")
	var pids []int
	m.until("the harness of "+agentName(i)+" runs", func() bool { // it may have been killed a moment ago
		pids = openedBy(m.t, lock)
		return len(pids) == 1
	})
	pid := pids[0]
	if m.killed[pid] {
		m.t.Fatalf("the harness %d was killed before", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatalf("kill the harness of %s: %v", agentName(i), err)
	}
	m.killed[pid] = true
	m.until("the harness of "+agentName(i)+" is dead", func() bool { return !slices.Contains(openedBy(m.t, lock), pid) })
}

// until waits for something that nobody tells.
func (m *team) until(what string, holds func() bool) {
	m.t.Helper()
	for ; !holds(); time.Sleep(10 * time.Millisecond) {
		if m.ctx.Err() != nil {
			m.t.Fatalf("never: %s", what)
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
	before := m.ps().Keeper
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
	m.w.do("up")
	if after := m.ps().Keeper; after == before {
		m.t.Fatalf("the keeper %d was not killed", before)
	}
}

// awaitAnswers waits until everybody has heard what they must.
func (m *team) awaitAnswers() {
	m.t.Helper()
	for _, a := range m.askers {
		for {
			missing, news := a.missing()
			if len(missing) == 0 {
				break
			}
			select {
			case <-news:
			case <-m.ctx.Done():
				m.t.Fatalf("%s did not hear %d of %d answers, such as %v", a.nick, len(missing), len(a.due), missing[0])
			}
		}
	}
}

// missing lists the answers that were not heard yet, and tells when there is
// news.
func (a *asker) missing() ([]heardKey, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var missing []heardKey
	for k := range a.due {
		if a.heard[k] == 0 {
			missing = append(missing, k)
		}
	}
	return missing, a.news
}

// fence asks every agent once more, in every channel and in private: what it
// said twice, it said before.
func (m *team) fence() {
	m.t.Helper()
	for i := range m.load.agents {
		if out := m.w.do("agent", "ask", agentName(i), "-t", "2m", "say done"); out != "done\n" {
			m.t.Errorf("%s: %q", agentName(i), out)
		}
	}
	for _, a := range m.askers {
		for i := range m.load.agents {
			answer := "the end for " + a.nick
			a.expect(heardKey{agentName(i), a.nick, answer})
			if err := m.say(a, agentName(i), "say "+answer); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	m.awaitAnswers()
}

// check compares what each heard with what they were to hear.
func (m *team) check() {
	m.t.Helper()
	if len(m.killed) != m.load.harnessKills {
		m.t.Errorf("%d harnesses were killed, want %d", len(m.killed), m.load.harnessKills)
	}
	answers := 0
	for _, a := range m.askers {
		a.mu.Lock()
		heard := maps.Clone(a.heard)
		a.mu.Unlock()
		for k, n := range heard {
			switch {
			case !a.due[k]:
				m.t.Errorf("%s heard %v, which was not for them", a.nick, k)
			case n != 1:
				m.t.Errorf("%s heard %v %d times", a.nick, k, n)
			}
		}
		answers += len(heard)
	}
	m.t.Logf("%d people heard %d answers of %d agents, over %d kills of harnesses and one of the server", len(m.askers), answers, m.load.agents, len(m.killed))
}
