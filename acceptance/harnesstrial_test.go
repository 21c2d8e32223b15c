package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/chat/irc"
	"den/internal/keeper"
	"den/internal/process/pty"
	"den/internal/process/tree"
	"den/internal/testkit/modelstub"
)

// harnessPatience is for real agents on a busy machine. Nothing is measured by it.
const harnessPatience = 3 * time.Minute

// A harnessTrial is a workspace with one agent that talks, its model, and bob, who
// owns the agent.
type harnessTrial struct {
	*kept
	backend harnessBackend
	stub    *modelstub.Server
	model   *harnessModel
	bob     *talker
	answers map[string]int // that bob must have heard, and how often
}

// harnessSettings are what trials differ in.
type harnessSettings struct {
	expiry     string // of approvals
	supervisor string // the table of the workspace file, or ""
	server     string // likewise
	account    string // the owner, by account; "" for bob, by nick
	more       string // lines of the agent's table
}

func newHarnessTrial(t *testing.T, b harnessBackend, s harnessSettings) *harnessTrial {
	t.Helper()
	stub := modelstub.Start(t)
	h := b.home(t, stub)
	m := &harnessTrial{backend: b, stub: stub, model: newHarnessModel(b, stub), answers: map[string]int{}}
	m.kept = keepWorkspace(t, b.name, h, "")
	m.begin(t, s)
	return m
}

// begin starts the workspace, and has bob meet the agent.
func (m *harnessTrial) begin(t *testing.T, s harnessSettings) {
	t.Helper()
	m.configure(s)
	t.Cleanup(func() {
		if t.Failed() {
			m.explain()
		}
	})
	m.do("up", "--wait", "-t", "2m")
	m.bob = meet(t, m.ps().Server.Socket, "bob", m.agent)
}

// configure writes the workspace file.
func (m *harnessTrial) configure(s harnessSettings) {
	m.t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "[workspace]\nname = \"w\"\n\n%s\n%s\n[[agents]]\nname = %q\nagent = %q\ndir = %q\nchannels = [\"#general\"]\n",
		s.supervisor, s.server, m.agent, m.backend.backend, m.agentHome.Work)
	if s.account != "" {
		fmt.Fprintf(&file, "owner = %q\n", s.account)
	} else {
		file.WriteString("owner = \"bob\"\nowner_by_nick = true\n")
	}
	file.WriteString(s.more)
	if s.expiry != "" {
		fmt.Fprintf(&file, "approval_expiry = %q\n", s.expiry)
	}
	if len(m.backend.command) > 0 {
		fmt.Fprintf(&file, "acp_command = %s\n", mustJSON(m.backend.command))
	}
	writeEnv(&file, m.agentHome)
	if err := os.WriteFile(m.file, []byte(file.String()), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// explain logs what helps to understand a trial that failed.
func (m *harnessTrial) explain() {
	log, err := os.ReadFile(filepath.Join(m.stateDir(), "harness.log"))
	var asked []string
	for _, r := range m.stub.Requests() {
		asked = append(asked, fmt.Sprintf("%s %s %.300q", r.Method, r.Path, r.Text))
	}
	m.t.Logf("the harness's log: %v\n%s\nwhat bob heard:\n%s\nwhat the model was asked:\n%s", err, log, m.bob, strings.Join(asked, "\n"))
}

func (m *harnessTrial) stateDir() string {
	return filepath.Join(filepath.Dir(m.file), ".den", "minds", m.agent)
}

func (m *harnessTrial) ps() keeper.Ps {
	m.t.Helper()
	var ps keeper.Ps
	if err := json.Unmarshal([]byte(m.do("ps", "-j")), &ps); err != nil {
		m.t.Fatal(err)
	}
	return ps
}

func (m *harnessTrial) status() ipc.AgentStatus {
	m.t.Helper()
	var s ipc.AgentStatus
	if err := json.Unmarshal([]byte(m.do("harness", "status", m.agent, "-j")), &s); err != nil {
		m.t.Fatal(err)
	}
	return s
}

// mention says something to the agent in the channel.
func (m *harnessTrial) mention(format string, args ...any) {
	m.t.Helper()
	m.bob.say(m.t, "#general", "@"+m.agent+" "+fmt.Sprintf(format, args...))
}

// answered waits for one more answer of this text, in the channel or to bob
// alone. At the end of the trial there must be no more of them.
func (m *harnessTrial) answered(target, text string) {
	m.t.Helper()
	key := target + " " + text
	m.answers[key]++
	m.bob.awaitTimes(m.t, text, m.answers[key], m.says(key))
}

// says matches what the agent says, by where and what.
func (m *harnessTrial) says(key string) func(irc.Event) bool {
	return func(e irc.Event) bool { return e.From.Nick == m.agent && e.Target+" "+e.Text == key }
}

// asked waits until the model was asked what matches.
func (m *harnessTrial) asked(match modelstub.Match) modelstub.Request {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), harnessPatience)
	defer cancel()
	r, err := m.stub.Await(ctx, match)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// count counts the requests to the model that match.
func (m *harnessTrial) count(match modelstub.Match) int {
	n := 0
	for _, r := range m.stub.Requests() {
		if r.Dialect != "" && match(&r) {
			n++
		}
	}
	return n
}

// until waits for something that nobody tells.
func (m *harnessTrial) until(what string, holds func() bool) {
	m.t.Helper()
	for begun := time.Now(); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > harnessPatience {
			m.t.Fatalf("never: %s", what)
		}
	}
}

// harness is the process of the agent's harness, which may be being started.
func (m *harnessTrial) harness() int {
	m.t.Helper()
	var pids []int
	m.until("the harness runs", func() bool {
		pids = openedBy(m.t.(*testing.T), filepath.Join(m.stateDir(), "harness.lock"))
		return len(pids) == 1
	})
	return pids[0]
}

// program is the process that the harness started: the agent itself.
func (m *harnessTrial) program() int {
	m.t.Helper()
	harness := m.harness()
	for _, pid := range pty.Descendants(harness) {
		if parentOf(pid) == harness && pty.HasEnv(pid, tree.RunnerMark) {
			return pid
		}
	}
	m.t.Fatalf("the harness %d has no agent", harness)
	return 0
}

func (m *harnessTrial) kill(pid int) {
	m.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.t.Fatal(err)
	}
}

// end asks once more, so that what was said twice was said before, and counts.
func (m *harnessTrial) end() {
	m.t.Helper()
	m.mention("task:say:end")
	m.answered("#general", "said end")
	for answer, want := range m.answers {
		if got := m.bob.count(m.says(answer)); got != want {
			m.t.Errorf("%q was heard %d times, want %d", answer, got, want)
		}
	}
	m.do("down", "-t", "1m")
	m.leavesNothing()
}

// talker is somebody in the channel, who remembers what was said.
type talker struct {
	client *irc.Client

	mu    sync.Mutex // guards the fields below
	heard []irc.Event
	news  chan struct{} // closed and made anew with each event
}

// meet has somebody join the channel, and waits until the agent is there.
func meet(t *testing.T, address, nick, agent string) *talker {
	t.Helper()
	return meetBy(t, irc.ClientConfig{Address: address, Nick: nick}, agent)
}

// meetBy is meet, by a client that may log in.
func meetBy(t *testing.T, config irc.ClientConfig, agent string) *talker {
	t.Helper()
	config.Channels = []irc.ChannelKey{{Name: "#general"}}
	config.Limits = irc.ClientLimits{LineRate: 100, LineBurst: 100, FirstWait: 50 * time.Millisecond, LongWait: time.Second}
	client, err := irc.Dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	p := &talker{client: client, news: make(chan struct{})}
	if err := client.Join(t.Context(), "#general", ""); err != nil {
		t.Fatal(err)
	}
	var listening sync.WaitGroup
	listening.Go(p.listen)
	t.Cleanup(func() {
		client.Close()
		listening.Wait()
	})
	p.awaitMember(t, agent)
	return p
}

func (p *talker) awaitMember(t testing.TB, nick string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < harnessPatience; time.Sleep(50 * time.Millisecond) {
		users, err := p.client.Who(t.Context(), "#general")
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range users {
			if u.Nick == nick {
				return
			}
		}
	}
	t.Fatalf("%s does not come to the channel", nick)
}

func (p *talker) listen() {
	for {
		e, err := p.client.Next(context.Background())
		if err != nil {
			return
		}
		p.mu.Lock()
		p.heard = append(p.heard, e)
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

func (p *talker) say(t testing.TB, target, text string) {
	t.Helper()
	if _, err := p.client.Send(t.Context(), target, text); err != nil {
		t.Fatal(err)
	}
}

// await returns the first message that matches, also one from before.
func (p *talker) await(t testing.TB, what string, match func(irc.Event) bool) irc.Event {
	t.Helper()
	return p.awaitTimes(t, what, 1, match)
}

// awaitTimes returns when so many messages match, with the last of them.
func (p *talker) awaitTimes(t testing.TB, what string, times int, match func(irc.Event) bool) irc.Event {
	t.Helper()
	late := time.After(harnessPatience)
	for {
		p.mu.Lock()
		news := p.news
		p.mu.Unlock()
		if found := p.messages(match); len(found) >= times {
			return found[times-1]
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("nobody said %q", what)
		}
	}
}

func (p *talker) count(match func(irc.Event) bool) int { return len(p.messages(match)) }

// messages returns those that others said and that match.
func (p *talker) messages(match func(irc.Event) bool) []irc.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []irc.Event
	for _, e := range p.heard {
		if e.Kind == irc.EventMessage && !e.Own && match(e) {
			found = append(found, e)
		}
	}
	return found
}

// String is what was said, for the messages of tests that fail.
func (p *talker) String() string {
	if p == nil {
		return "bob was not there"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, e := range p.heard {
		if e.Kind == irc.EventMessage || e.Err != nil {
			all = append(all, fmt.Sprintf("%s %s <%s> to %s: %s %v", e.Time.Format("15:04:05"), e.Kind, e.From.Nick, e.Target, e.Text, e.Err))
		}
	}
	return strings.Join(all, "\n")
}
