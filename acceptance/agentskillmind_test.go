package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"den/internal/testkit/modelstub"
)

// A mind is the model behind an agent. It knows its task and what the skill
// says, and decides by the result of its last command.
type mind struct {
	t     *testing.T
	agent skillAgent
	skill string
	task  task

	mu    sync.Mutex // guards the fields below
	asked bool       // for the skill
	verb  string     // of den that it used last, or ""
	log   []string
}

// A task decides what to do next.
type task interface {
	// next gets the last verb, "" at first, and what den answered.
	next(verb string, r denAnswer) move
}

// A move is a command of den, word by word, or else the last words of a turn.
type move struct {
	den []string
	say string
}

func use(words ...string) move { return move{den: words} }

func say(format string, args ...any) move { return move{say: fmt.Sprintf(format, args...)} }

// denAnswer is what a task reads of den's JSON. The skill must name each field.
type denAnswer struct {
	Status     string `json:"status"`
	Output     string `json:"output"`
	ExitCode   *int   `json:"exit_code"`
	WaitingFor string `json:"waiting_for"`
	Question   string `json:"question"`
}

// reply is the model's answer to a request of the agent.
func (m *mind) reply(r *modelstub.Request) modelstub.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asked {
		m.asked = true
		return m.agent.reads(r, "den")
	}
	if !hasString(r.Body, func(s string) bool { return strings.Contains(s, m.skill) }) {
		m.t.Errorf("the agent did not send the skill to the model; the last results: %q", r.Results)
		return modelstub.Say("I do not know den.")
	}
	var answer denAnswer
	if m.verb != "" {
		var line string
		if answer, line = readAnswer(r.Results); line == "" {
			m.t.Errorf("den %s: no JSON object in %q", m.verb, r.Results)
			return modelstub.Say("I do not understand den.")
		}
		m.log = append(m.log, line)
	}
	next := m.task.next(m.verb, answer)
	if next.say != "" {
		m.log = append(m.log, next.say)
		return modelstub.Say(next.say)
	}
	m.expectTaught(next.den)
	m.verb = next.den[0]
	command := "den " + shellWords(next.den)
	m.log = append(m.log, command)
	return m.agent.run(command)
}

// readAnswer finds den's answer, and the line with it, in what a tool printed.
func readAnswer(results []string) (denAnswer, string) {
	for _, result := range slices.Backward(results) {
		for line := range strings.Lines(result) {
			var a denAnswer
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &a) == nil {
				return a, strings.TrimSpace(line)
			}
		}
	}
	return denAnswer{}, ""
}

// expectTaught demands that the skill names a command's verb and its flags.
func (m *mind) expectTaught(words []string) {
	if !regexp.MustCompile(`\bden ` + regexp.QuoteMeta(words[0]) + `\b`).MatchString(m.skill) {
		m.t.Errorf("the skill does not teach 'den %s'", words[0])
	}
	for _, word := range words[1:] {
		if strings.HasPrefix(word, "-") && !regexp.MustCompile("[ `]"+regexp.QuoteMeta(word)+`\b`).MatchString(m.skill) {
			m.t.Errorf("the skill does not teach '%s' of 'den %s'", word, words[0])
		}
	}
}

// done are the commands and answers so far.
func (m *mind) done() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

// shellWords writes words for a POSIX shell.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// TestSkillTeachesAnswers demands that the skill names what a reader of den's
// answers must know.
func TestSkillTeachesAnswers(t *testing.T) {
	skill := skillBody(t, "../internal/ui/cli/skills/den/SKILL.md")
	for _, word := range []string{`"status":"done"`, `"status":"error"`, `"output"`, `"exit_code":0`, "`question`", "`waiting_for`"} {
		if !strings.Contains(skill, word) {
			t.Errorf("it does not say %s", word)
		}
	}
}
