package acceptance

import (
	"regexp"
	"strings"
	"sync"

	"den/internal/testkit/modelstub"
)

// A harnessModel is the model behind an agent that talks: it does what the newest
// message says.
//
//	task:say:WORD   answers "said WORD"
//	task:hold:WORD  begins an answer, and ends it when the test releases it; told
//	                that its turn was cut off it answers "finished WORD"
//	task:fail:WORD  fails as the test says, until the test mends it; then "mended WORD"
//	task:use:WORD   makes the file WORD by a command, then "tried WORD"
type harnessModel struct {
	backend harnessBackend

	mu      sync.Mutex // guards the fields below
	held    map[string]chan struct{}
	failing map[string]modelstub.Reply
	used    map[string]bool // the commands that the agent was told to run
}

var harnessTask = regexp.MustCompile(`task:(say|hold|fail|use):([a-z0-9-]+)`)

// compaction is in the request by which Claude Code shortens a conversation that
// is too long, behind an earlier message.
const compaction = "Respond with TEXT ONLY"

// fullTask is the task for which the conversation is too long.
const fullTask = "full"

// cutOff is how an agent is told of a turn that did not end.
const cutOff = "Your last turn was cut off before it ended"

func newHarnessModel(b harnessBackend, stub *modelstub.Server) *harnessModel {
	m := &harnessModel{backend: b, held: map[string]chan struct{}{}, failing: map[string]modelstub.Reply{}, used: map[string]bool{}}
	stub.Always(b.turnWith("task:"), modelstub.Decide(m.reply))
	return m
}

// turnWith matches the requests of a turn whose newest message has this text.
func (b harnessBackend) turnWith(text string) modelstub.Match {
	return modelstub.All(modelstub.Contains(text), modelstub.Offers(b.tool))
}

// resumed matches the request by which an agent learns that the turn of a task
// was cut off.
func (b harnessBackend) resumed(word string) modelstub.Match {
	return modelstub.All(b.turnWith(word), func(r *modelstub.Request) bool { return wasCutOff(r.Text, word) })
}

func wasCutOff(text, word string) bool {
	told := strings.LastIndex(text, cutOff)
	return told >= 0 && strings.LastIndex(text, word) > told
}

// reply does the last task of the newest text: agents send messages that were
// not answered together with the next.
func (m *harnessModel) reply(r *modelstub.Request) modelstub.Reply {
	tasks := harnessTask.FindAllStringSubmatch(r.Text, -1)
	if len(tasks) == 0 {
		return modelstub.Say("no task")
	}
	last := tasks[len(tasks)-1]
	kind, word := last[1], last[2]
	m.mu.Lock()
	defer m.mu.Unlock()
	if strings.Contains(r.Text, compaction) {
		if failure, failing := m.failing[fullTask]; failing {
			return failure
		}
		return modelstub.Say("a summary")
	}
	switch kind {
	case "hold":
		if wasCutOff(r.Text, word) {
			return modelstub.Say("finished ", word)
		}
		return modelstub.Reply{Text: []string{"begun and ", "whole " + word}, Hold: m.holdLocked(word)}
	case "fail":
		if failure, failing := m.failing[word]; failing {
			return failure
		}
		return modelstub.Say("mended ", word)
	case "use":
		if !m.used[word] { // the results in the request may be of an earlier task that was denied
			m.used[word] = true
			return m.backend.shell("touch " + word)
		}
		return modelstub.Say("tried ", word)
	}
	return modelstub.Say("said ", word)
}

func (m *harnessModel) holdLocked(word string) chan struct{} {
	if m.held[word] == nil {
		m.held[word] = make(chan struct{})
	}
	return m.held[word]
}

// release lets a held answer go on.
func (m *harnessModel) release(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.holdLocked(word))
}

func (m *harnessModel) breakDown(word string, reply modelstub.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failing[word] = reply
}

func (m *harnessModel) mend(word string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.failing, word)
}
