package tick

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"den/internal/agent/runner"
	"den/internal/ticks/datarepo"
	"den/internal/ticks/history"
	"den/internal/ticks/plan"
	"den/internal/ticks/toolsocket"
)

// transcript writes what is said and done in a tick, one JSON object a line, as
// it happens: a tick that is killed has one, too. It looks the same whatever
// the runner is, and like the transcripts that tools of agents read already:
// "user" and "assistant" with messages of blocks, and "system" for the rest.
type transcript struct {
	repo  *datarepo.Repo
	tick  int
	clock func() time.Time
	log   *slog.Logger

	mu     sync.Mutex // guards the fields below
	file   *os.File   // or nil
	failed bool       // told
}

func newTranscript(repo *datarepo.Repo, tick int, clock func() time.Time, log *slog.Logger) *transcript {
	return &transcript{repo: repo, tick: tick, clock: clock, log: log}
}

// line is one of the transcript.
type line struct {
	Type      string    `json:"type"`
	Subtype   string    `json:"subtype,omitempty"`
	Timestamp time.Time `json:"timestamp"`
	Session   string    `json:"sessionId,omitempty"`
	Tick      int       `json:"tick"`
	Message   any       `json:"message,omitempty"`
	Detail    any       `json:"detail,omitempty"` // of system
}

type message struct {
	Role    string `json:"role"`
	Model   string `json:"model,omitempty"`
	Content any    `json:"content"`
}

type toolResult struct {
	Type    string `json:"type"` // "tool_result"
	ID      string `json:"tool_use_id"`
	Content string `json:"content"`
	Failed  bool   `json:"is_error,omitempty"`
}

func (t *transcript) begin() { t.system("", "tick_begun", nil) }

func (t *transcript) prompt(session, text string) {
	t.write(line{Type: "user", Session: session, Message: message{Role: "user", Content: text}})
}

func (t *transcript) system(session, what string, detail any) {
	t.write(line{Type: "system", Subtype: what, Session: session, Detail: detail})
}

// event writes an event of a turn. Pieces of text come whole later.
func (t *transcript) event(session string, e runner.Event) {
	switch e.Kind {
	case runner.Spoke:
		t.write(line{Type: "assistant", Session: session, Message: message{Role: "assistant", Model: e.Message.Model, Content: e.Message.Content}})
	case runner.ToolFinished:
		r := toolResult{Type: "tool_result", ID: e.Result.ID, Content: e.Result.Output, Failed: e.Result.Failed}
		t.write(line{Type: "user", Session: session, Message: message{Role: "user", Content: []toolResult{r}}})
	case runner.Used:
		t.system(session, "usage", e.Usage)
	case runner.Sized:
		t.system(session, "context", e.Size)
	case runner.Retrying:
		t.system(session, "retrying", map[string]string{"why": e.Failure.Error()})
	case runner.Noted:
		t.system(session, "note", map[string]string{"text": e.Text})
	case runner.Compacting:
		t.system(session, "compacting", nil)
	}
}

// tool writes the use of a tool of the tick's and its answer.
func (t *transcript) tool(c toolsocket.Call, a toolsocket.Answer) {
	id := strings.ToLower(rand.Text()[:8])
	use := runner.UseTool("", id, "mcp__"+serverName+"__"+c.Tool, c.Arguments)
	t.write(line{Type: "assistant", Message: message{Role: "assistant", Content: use.Content}})
	r := toolResult{Type: "tool_result", ID: id, Content: a.Text, Failed: a.Failed}
	t.write(line{Type: "user", Message: message{Role: "user", Content: []toolResult{r}}})
}

func (t *transcript) turnEnded(session string, r runner.Result, f *plan.Failure) {
	detail := map[string]any{"text": r.Text, "cancelled": r.Cancelled, "usage": r.Usage}
	if f != nil {
		detail["failure"] = f.Error()
	}
	t.system(session, "turn_ended", detail)
}

// end writes how the tick ended, and closes the file.
func (t *transcript) end(s plan.State) {
	detail := map[string]any{
		"status": s.Outcome.Status(), "reason": s.Outcome.Reason, "why": s.Outcome.Why, "turns": s.Turns, "duration": s.Elapsed.Seconds(),
	}
	if s.Replies > 0 {
		detail["replies"] = s.Replies
	}
	if s.CostUSD > 0 {
		detail["cost_usd"] = s.CostUSD
	}
	if s.Context != (plan.Context{}) {
		detail["context"] = s.Context
	}
	t.system(s.Session, "tick_ended", detail)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil {
		t.complain(t.file.Close())
		t.file = nil
	}
}

func (t *transcript) write(l line) {
	l.Timestamp, l.Tick = t.clock().UTC(), t.tick
	data, err := json.Marshal(l)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.file == nil {
		t.file, err = t.open()
	}
	if err == nil {
		_, err = t.file.Write(append(data, '\n'))
	}
	t.complain(err)
}

// open opens the file for appending: a tick that is recovered goes on with it.
func (t *transcript) open() (*os.File, error) {
	logs, err := t.repo.OpenLogs()
	if err != nil {
		return nil, err
	}
	f, err := logs.OpenFile(path.Base(datarepo.TickLog(t.tick)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	return f, errors.Join(err, logs.Close())
}

// complain tells once that lines are missing. The tick goes on.
func (t *transcript) complain(err error) {
	if err != nil && !t.failed {
		t.failed = true
		t.log.Error("the transcript has gaps", "tick", t.tick, "error", err)
	}
}

// newIndex is the index of a tick, with what is known when it begins.
func newIndex(repo *datarepo.Repo, s plan.State, c datarepo.Config) *history.Writer {
	return history.NewWriter(repo, history.Tick{
		Number: s.Tick, Began: s.Began, Runner: c.Runner, Model: modelOf(c), Causes: s.Causes, Transcript: datarepo.TickLog(s.Tick),
	})
}

// indexTerminal notes a terminal in the index of the tick that opened it.
func (t *tick) indexTerminal(number int, one history.Terminal) {
	if number == t.number {
		t.report("index a terminal", t.index.Terminal(one))
		return
	}
	t.report("index a terminal of an earlier tick", history.Amend(t.o.Repo, number, one))
}
