package acceptance

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"den/internal/testkit/need"

	"den/internal/chat/irc"
	"den/internal/testkit/modelstub"
)

// channelAgents are real agents that a harness runs, with the name by which
// 'den skills install' knows each.
var channelAgents = []struct {
	skills  string
	backend harnessBackend
	agent   skillAgent
}{
	{"claude", backendNamed("claude"), skillAgentNamed("claude")},
	{"codex", backendNamed("codex"), skillAgentNamed("codex")},
	{"acp", backendNamed("opencode"), skillAgentNamed("opencode")},
	{"copilot", backendNamed("copilot"), skillAgent{name: "copilot", skillTool: "skill", run: func(command string) modelstub.Reply { return useShell("bash", command) }}},
}

func backendNamed(name string) harnessBackend {
	return realBackends[slices.IndexFunc(realBackends, func(b harnessBackend) bool { return b.name == name })]
}

func skillAgentNamed(name string) skillAgent {
	return skillAgents[slices.IndexFunc(skillAgents, func(a skillAgent) bool { return a.name == name })]
}

// TestAgentSkillChannel gives real coding agents that a harness runs the skill
// of channels, as 'den skills install' does. Asked by a mention, the model
// reads the skill and uses only what it teaches: it joins a channel, speaks
// there, looks who is where it was asked, asks a person, and answers by what
// that person said.
func TestAgentSkillChannel(t *testing.T) {
	need.Long(t, "starts coding agents, which takes seconds each")
	for _, c := range channelAgents {
		t.Run(c.backend.name, func(t *testing.T) {
			t.Parallel()
			stub := modelstub.Start(t)
			m := &harnessTrial{backend: c.backend, stub: stub, answers: map[string]int{}}
			m.kept = keepWorkspace(t, c.backend.name, c.backend.home(t, stub), "")
			h := m.agentHome
			path := filepath.Dir(m.den) + ":" + h.Getenv("PATH")
			h.Env = append(h.Env, "PATH="+path)
			h.Write(t, ".profile", []byte("PATH="+path+"\n")) // codex's shell is one of a login
			m.do("skills", "install", c.skills)
			mind := &channelMind{t: t, agent: c.agent, nick: m.agent, skill: skillBody(t, "../internal/ui/cli/skills/channel/SKILL.md")}
			about := func(r *modelstub.Request) bool { return strings.Contains(string(r.Body), "task:port") }
			stub.Always(modelstub.All(modelstub.Offers(c.backend.tool), about), modelstub.Decide(mind.reply))
			t.Cleanup(func() { t.Logf("what the model did:\n%s", strings.Join(mind.done(), "\n")) })
			m.begin(t, harnessSettings{more: "permissions = [{ outcome = \"allow\", command = \"den channel *\" }, { outcome = \"allow\", command = \"cat *\" }, { outcome = \"allow\", tool = \"Skill\" }]\n"})
			if err := m.bob.client.Join(t.Context(), "#builds", ""); err != nil {
				t.Fatal(err)
			}

			m.mention("task:port, find out which one and tell #builds that you do")
			m.answered("#builds", "I look for the port")
			m.answered("#general", "@bob which port?")
			m.bob.say(t, "#general", "@"+m.agent+" 8080")
			m.answered("#general", "bob says 8080")
			for answer, want := range m.answers {
				if got := m.bob.count(m.says(answer)); got != want {
					t.Errorf("%q was heard %d times, want %d", answer, got, want)
				}
			}
			if n := m.bob.count(func(e irc.Event) bool { return strings.HasPrefix(e.Text, "May I? ") }); n != 0 {
				t.Errorf("it asked for permission %d times", n)
			}
			m.do("down", "-t", "1m")
			m.leavesNothing()
		})
	}
}

// A channelMind is the model behind an agent that has to find out something in
// the channels. It knows the skill alone, and decides by what its commands
// print.
type channelMind struct {
	t     *testing.T
	agent skillAgent
	nick  string
	skill string

	mu        sync.Mutex // guards the fields below
	read      bool       // it has asked for the skill
	escalated bool       // its commands run outside of the sandbox
	step      int        // the next one; the last command is that of the one before
	log       []string
}

// steps are what it does, and what each command must print before the next.
func (m *channelMind) steps() []struct {
	words []string
	want  string
} {
	return []struct {
		words []string
		want  string
	}{
		{[]string{"join", "#builds"}, ""},
		{[]string{"send", "#builds", "I look for the port"}, ""},
		{[]string{"channels"}, `#builds`},
		{[]string{"who", "#general"}, `\bbob\b`},
		{[]string{"ask", "#general", "--timeout", "60", "@bob which port?"}, `<bob> @` + m.nick + ` (\d+)`},
	}
}

// reply is the model's answer to a request of the agent.
func (m *channelMind) reply(r *modelstub.Request) modelstub.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.read {
		m.read = true
		return m.agent.reads(r, "channel")
	}
	if !hasString(r.Body, func(s string) bool { return strings.Contains(s, m.skill) }) {
		return m.fail("the agent did not send the skill to the model; it has the tools %q; the last results: %q", r.Tools, r.Results)
	}
	steps, found := m.steps(), ""
	if m.step > 0 {
		last, result := steps[m.step-1], lastResult(r)
		m.log = append(m.log, result)
		match := regexp.MustCompile(last.want).FindStringSubmatch(result)
		switch {
		case strings.Contains(result, notPermitted) && m.agent.escalate != nil && !m.escalated:
			m.escalated = true // as the skill says
			return m.use(last.words)
		case match == nil || strings.Contains(result, "den: "):
			return m.fail("'den channel %s' printed %q, want %q", last.words[0], result, last.want)
		}
		found = match[len(match)-1]
	}
	if m.step == len(steps) {
		m.log = append(m.log, "bob says "+found)
		return modelstub.Say("bob says ", found)
	}
	m.step++
	return m.use(steps[m.step-1].words)
}

// notPermitted is what den says in a sandbox that lets nobody connect, as the
// skill has it.
const notPermitted = "connect: operation not permitted"

// use runs a command of den that the skill teaches.
func (m *channelMind) use(words []string) modelstub.Reply {
	m.expectTaught(words)
	command := "den channel " + shellWords(words)
	if m.escalated {
		m.log = append(m.log, "outside of the sandbox: "+command)
		return m.agent.escalate(command)
	}
	m.log = append(m.log, command)
	return m.agent.run(command)
}

func (m *channelMind) fail(format string, args ...any) modelstub.Reply {
	m.t.Errorf(format, args...)
	return modelstub.Say("I do not understand. " + fmt.Sprintf(format, args...))
}

// lastResult is what the newest tool printed, or "".
func lastResult(r *modelstub.Request) string {
	if len(r.Results) == 0 {
		return ""
	}
	return r.Results[len(r.Results)-1]
}

// expectTaught demands that the skill names a verb of 'den channel' and its
// flags.
func (m *channelMind) expectTaught(words []string) {
	if m.escalated && !strings.Contains(m.skill, notPermitted) {
		m.t.Errorf("the skill does not say what to do in a sandbox")
	}
	if !regexp.MustCompile("den channel " + regexp.QuoteMeta(words[0]) + `\b`).MatchString(m.skill) {
		m.t.Errorf("the skill does not teach 'den channel %s'", words[0])
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") && !strings.Contains(m.skill, word) {
			m.t.Errorf("the skill does not teach '%s' of 'den channel %s'", word, words[0])
		}
	}
}

// done are the commands and what they printed so far.
func (m *channelMind) done() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}
