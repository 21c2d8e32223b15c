package codex

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"den/internal/agent/conversation"
	"den/internal/agent/runner/codex/wire"
	"den/internal/agent/runner/jsonrpc"
	"den/internal/base/fault"
)

// thread is what is read of one.
type thread struct {
	ID        string       `json:"id"`
	Parent    string       `json:"parentThreadId"`
	Ephemeral bool         `json:"ephemeral"` // makes titles and the like: nobody sees it
	Status    threadStatus `json:"status"`

	lastTurn string // how it ended: "completed", "interrupted" or "failed"; "" while one runs, or where it is not known
}

type threadStatus struct {
	Type  string   `json:"type"` // notLoaded, idle, systemError or active
	Flags []string `json:"activeFlags"`
}

// waits reports whether the thread waits for its user.
func (s threadStatus) waits() bool {
	return slices.Contains(s.Flags, waitingOnApproval) || slices.Contains(s.Flags, waitingOnInput)
}

// The flags of an active thread that waits for its user.
const (
	waitingOnApproval = "waitingOnApproval"
	waitingOnInput    = "waitingOnUserInput"
)

// params are those of the messages that are read.
type params struct {
	wire.Params
	Status threadStatus `json:"status"`
	Thread *thread      `json:"thread"`
}

// request is a decision that the server asks this client for.
type request struct {
	id       json.RawMessage // to answer with
	thread   string
	question conversation.Question
	inputID  string // of a question with options
}

// The decisions of an approval that are always there.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"
)

// asked makes a request of the server's; nil for one that den does not answer.
func asked(m jsonrpc.Message, p params) *request {
	r := &request{id: m.ID, thread: p.ThreadID, question: conversation.Question{ID: p.ItemID + "#" + string(m.ID), Kind: conversation.Permission}}
	switch m.Method {
	case wire.ApproveCommand:
		r.question.Text = p.Command
	case wire.ApproveFiles:
		r.question.Text = strings.TrimSpace("change files " + p.Reason)
	case wire.AskUser:
		return r.input(p.Questions)
	default:
		return nil
	}
	r.question.Options = []conversation.Option{
		{ID: accept, Label: "Yes"}, {ID: decline, Label: "No, and go on"}, {ID: cancel, Label: "No, and end the turn"},
	}
	return r
}

// input makes the request one with the options of a question. Several
// questions at once cannot be answered by one option.
func (r *request) input(questions []wire.Question) *request {
	r.question.Kind = conversation.Choice
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Question)
	}
	r.question.Text = strings.Join(texts, "\n")
	if len(questions) > 1 {
		r.question.Vague, r.question.SharedID = true, true // the screen asks one after the other
	}
	if len(questions) == 1 {
		r.inputID = questions[0].ID
		for _, o := range questions[0].Options {
			r.question.Options = append(r.question.Options, conversation.Option{ID: o.Label, Label: o.Label})
		}
	}
	return r
}

// maxUnknown bounds how many threads wait to be asked about; what is told of
// more is told again with their next status.
const maxUnknown = 64

// model is what is known of the server: a pure function of what it said.
type model struct {
	threads []thread  // in the order in which they were last begun or used
	open    []request // in the order in which they were asked
	failed  string    // why the last turn failed, "" where it is not known
	waits   int       // how often a thread began to wait for its user
	unknown []string  // threads of which only a status was told: to be asked about
	turns   []turnNote
	added   []string // messages that were added to a running turn; see unasked
}

// apply takes a notification or a request in.
func (m *model) apply(msg jsonrpc.Message) error {
	var p params
	switch msg.Method {
	case "thread/started", "thread/status/changed", "thread/closed", "turn/started", "turn/completed", "serverRequest/resolved", "error", "thread/tokenUsage/updated",
		wire.ApproveCommand, wire.ApproveFiles, wire.AskUser:
		if err := json.Unmarshal(msg.Params, &p); err != nil {
			return fault.Errorf(fault.Protocol, "read codex' %s: %w", msg.Method, err)
		}
	default:
		return nil
	}
	switch msg.Method {
	case "thread/started":
		if p.Thread != nil {
			m.put(*p.Thread)
		}
	case "thread/status/changed":
		m.setStatus(p.ThreadID, p.Status)
	case "thread/closed":
		m.setStatus(p.ThreadID, threadStatus{Type: "notLoaded"})
	case "turn/started", "turn/completed":
		if p.Turn != nil {
			m.setTurn(p.ThreadID, msg.Method, p.Turn.Status)
			m.noteTurn(*p.Turn)
		}
	case "thread/tokenUsage/updated":
		if p.Usage != nil {
			m.noteUsage(p.TurnID, p.Usage.Last)
		}
	case "serverRequest/resolved":
		m.open = slices.DeleteFunc(m.open, func(r request) bool { return string(r.id) == string(p.RequestID) })
	case "error":
		if p.Error != nil && p.ThreadID == m.main().ID {
			m.failed = p.Error.Message
		}
	default:
		if r := asked(msg, p); r != nil {
			m.open = slices.DeleteFunc(m.open, func(o request) bool { return string(o.id) == string(r.id) })
			m.open = append(m.open, *r)
		}
	}
	return nil
}

// put takes a thread in as the one used last.
func (m *model) put(t thread) {
	m.threads = slices.DeleteFunc(m.threads, func(o thread) bool { return o.ID == t.ID })
	m.threads = append(m.threads, t)
}

func (m *model) setStatus(id string, s threadStatus) {
	i := slices.IndexFunc(m.threads, func(t thread) bool { return t.ID == id })
	if i < 0 {
		if s.Type != "notLoaded" && len(m.unknown) < maxUnknown && !slices.Contains(m.unknown, id) {
			m.unknown = append(m.unknown, id)
		}
		return
	}
	t := m.threads[i]
	if s.Type == "active" && t.Status.Type != "active" {
		m.failed = ""
	}
	if s.waits() && !t.Status.waits() {
		m.waits++
	}
	t.Status = s
	switch s.Type {
	case "notLoaded":
		m.threads = slices.Delete(m.threads, i, i+1)
	case "active":
		m.put(t)
	default:
		m.threads[i] = t
	}
	if !s.waits() {
		m.open = slices.DeleteFunc(m.open, func(r request) bool { return r.thread == id })
	}
}

// setTurn notes how the last turn of a thread ended.
func (m *model) setTurn(id, method, status string) {
	if method == "turn/started" {
		status = ""
	}
	for i := range m.threads {
		if m.threads[i].ID == id {
			m.threads[i].lastTurn = status
		}
	}
}

// unasked reports whether codex may have added a message to a turn without
// asking its model about it: that happens in the last moment of a turn. It is
// no case of that where the turn was interrupted or failed.
func (m *model) unasked() bool {
	t := m.main()
	return len(m.added) > 0 && t.Status.Type == "idle" && t.lastTurn == "completed"
}

func (m *model) knows(id string) bool {
	return slices.ContainsFunc(m.threads, func(t thread) bool { return t.ID == id })
}

// main is the thread that the screen shows: the user's own that was used last.
// Its ID is "" where there is none.
func (m *model) main() thread {
	for _, t := range slices.Backward(m.threads) {
		if !t.Ephemeral && t.Parent == "" {
			return t
		}
	}
	return thread{}
}

func (m *model) find(id string) (request, bool) {
	i := slices.IndexFunc(m.open, func(r request) bool { return r.question.ID == id })
	if i < 0 {
		return request{}, false
	}
	return m.open[i], true
}

func (m *model) state() conversation.State {
	main := m.main()
	if main.ID == "" {
		return conversation.State{Activity: conversation.Unknown, Why: "it has no thread yet"}
	}
	if len(m.open) > 0 {
		q := m.open[0].question
		return conversation.State{Activity: conversation.Asking, Question: &q}
	}
	working := false
	for _, t := range m.threads {
		switch {
		case t.Ephemeral || t.Status.Type != "active":
		case slices.Contains(t.Status.Flags, waitingOnApproval):
			return m.waiting(t, conversation.Permission)
		case slices.Contains(t.Status.Flags, waitingOnInput):
			return m.waiting(t, conversation.Choice)
		default:
			working = true
		}
	}
	switch {
	case working:
		return conversation.State{Activity: conversation.Busy}
	case main.Status.Type == "systemError":
		return conversation.State{Activity: conversation.TurnFailed, Why: m.failed}
	case m.unasked():
		return conversation.State{Activity: conversation.Busy, Why: "a message came in the last moment of its turn"}
	}
	return conversation.State{Activity: conversation.Ready}
}

// waiting is a decision of which only the kind is known: the request for it is
// on its way, or the thread is not joined.
func (m *model) waiting(t thread, kind conversation.QuestionKind) conversation.State {
	q := &conversation.Question{ID: t.ID + "#" + strconv.Itoa(m.waits), Kind: kind, Vague: true, Text: strings.Join(t.Status.Flags, ", ")}
	return conversation.State{Activity: conversation.Asking, Question: q}
}
