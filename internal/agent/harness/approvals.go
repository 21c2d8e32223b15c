package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"den/internal/agent/conversation"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/permission"
	"den/internal/agent/webhook"
	"den/internal/base/fault"
	"den/internal/place/decisive"
	"den/internal/process/pty"
	"den/internal/process/tree"
)

// The options of what waits for a decision. A question of the agent can also
// be answered by one of its own choices.
const (
	optionApprove = "approve"
	optionDeny    = "deny"
	optionAnswer  = "answer" // with text
)

// openBroker opens what decides the agent's requests.
func (h *Harness) openBroker() (*permission.Broker, error) {
	return permission.OpenBroker(permission.Options{
		Dir: PermissionDir(h.stateDir), Agent: h.config.Agent, Expire: h.config.ApprovalExpiry,
		Settings: h.config.Policy(h.stateDir, h.options.Getenv("HOME")),
		Tell:     func(a permission.Approval) { h.approvalTold(a) },
	})
}

// PermissionDir is where approvals, remembered rules and the audit log of an
// agent are.
func PermissionDir(stateDir string) string { return filepath.Join(stateDir, "permission") }

// Policy is what decides the requests of the agent whose state is in a
// directory.
func (c Config) Policy(stateDir, home string) permission.Settings {
	return permission.Settings{
		Dir: c.Dir, Home: home, Rules: c.Permissions, Bypass: c.Bypass, AskEdits: c.AskEdits,
		Protected: append([]string{stateDir}, c.Protected...), Workspace: workspaceFiles(c.Decisive),
	}
}

// workspaceFiles returns what reads the list of the workspace's files, nil where
// there is none.
func workspaceFiles(list string) func() ([]decisive.File, error) {
	if list == "" {
		return nil
	}
	return func() ([]decisive.File, error) { return decisive.Load(list) }
}

// ask decides what the agent asks for.
func (h *Harness) ask(ctx context.Context, r permission.Request) permission.Decision {
	return h.broker.Ask(ctx, r)
}

// answerOf is the decision that an option stands for. A choice that the agent
// offers is taken as it is, whatever it is called.
func (h *Harness) answerOf(id, option, text string) (permission.Answer, error) {
	for _, a := range h.openApprovals() {
		if strings.EqualFold(a.ID, id) && slices.Contains(a.Request.Choices, option) {
			return permission.Answer{Text: option}, nil
		}
	}
	switch option {
	case optionApprove:
		return permission.Answer{Approve: true}, nil
	case optionDeny:
		return permission.Answer{}, nil
	case optionAnswer:
		if strings.TrimSpace(text) == "" {
			return permission.Answer{}, fault.Errorf(fault.Usage, "an answer needs text")
		}
		return permission.Answer{Text: text}, nil
	}
	return permission.Answer{}, fault.Errorf(fault.Usage, "option %q: it is approve, deny or answer", option)
}

// approvalTold shows an approval that was made or decided, and asks the owner.
func (h *Harness) approvalTold(a permission.Approval) {
	if h.broker == nil {
		return // it is being opened, and tells what an earlier harness left
	}
	h.runner.SetQuestion(h.openQuestion())
	h.noteApproval(a)
	text := requestText(a.Request)
	if a.State != permission.Open {
		h.screen.Notef("%s %s: %s", a.ID, a.State, decidedText(a))
		h.tellOwnerEnd(a, fmt.Sprintf("%s is %s. %s", a.ID, a.State, decidedText(a)))
		return
	}
	if a.Request.Kind == permission.Question {
		h.questionTold(a)
		return
	}
	h.screen.Notef("asks %s: %s (%s)", a.ID, text, a.Asked)
	h.askOwner(a, fmt.Sprintf("May I? %s: %s (%s). Answer '@%s approve %s' or '@%s deny %s', with 'always' for the like of it too, and '--why TEXT'. It expires at %s.",
		a.ID, text, a.Asked, h.config.Nick, a.ID, h.config.Nick, a.ID, a.Expires.Format("15:04")))
	h.notify(webhook.AgentApproval, webhook.Warning, a.ID, fmt.Sprintf("%s asks for permission %s: %s", h.config.Nick, a.ID, text))
}

// questionTold asks the owner what the agent wants to know.
func (h *Harness) questionTold(a permission.Approval) {
	text := oneLine(a.Request.Text)
	if len(a.Request.Choices) > 0 {
		text += " (" + strings.Join(a.Request.Choices, " | ") + ")"
	}
	h.screen.Notef("asks %s: %s", a.ID, text)
	h.askOwner(a, fmt.Sprintf("Question %s: %s. Answer '@%s answer %s TEXT'. It expires at %s.",
		a.ID, text, h.config.Nick, a.ID, a.Expires.Format("15:04")))
	h.notify(webhook.AgentQuestion, webhook.Warning, a.ID, fmt.Sprintf("[QUESTION] %s asks %s: %s", h.config.Nick, a.ID, text))
}

// maxAsked bounds what is said of a question.
const maxAsked = 1000

// oneLine is a text in one line.
func oneLine(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if runes := []rune(line); len(runes) > maxAsked {
		line = string(runes[:maxAsked-1]) + "…"
	}
	return line
}

func decidedText(a permission.Approval) string {
	var parts []string
	if a.By != "" {
		parts = append(parts, "by "+a.By)
	}
	for _, s := range []string{a.Why, a.Note} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

// requestText says what the agent wants to do, on one line.
func requestText(r permission.Request) string {
	switch {
	case r.Command != "":
		return r.Tool + " " + firstLine(r.Command)
	case r.URL != "":
		return r.Tool + " " + firstLine(r.URL)
	case len(r.Paths) > 0:
		return r.Tool + " " + firstLine(strings.Join(r.Paths, " "))
	case r.Text != "":
		return r.Tool + " " + firstLine(r.Text)
	}
	return r.Tool + " " + inputText(r.Input)
}

// openApprovals lists those that wait for a decision, the oldest first.
func (h *Harness) openApprovals() []permission.Approval { return openApprovals(h.broker) }

func openApprovals(b *permission.Broker) []permission.Approval {
	open := []permission.Approval{}
	for _, a := range b.Approvals() {
		if a.State == permission.Open {
			open = append(open, a)
		}
	}
	slices.SortFunc(open, func(a, b permission.Approval) int { return a.Created.Compare(b.Created) })
	return open
}

// openQuestion is the oldest open approval as a question.
func (h *Harness) openQuestion() *conversation.Question {
	open := h.openApprovals()
	if len(open) == 0 {
		return nil
	}
	a := open[0]
	q := &conversation.Question{ID: a.ID, Kind: conversation.Permission, Text: requestText(a.Request)}
	options := []string{optionApprove, optionDeny}
	if a.Request.Kind == permission.Question {
		q.Kind, q.Text, options = conversation.Choice, oneLine(a.Request.Text), a.Request.Choices
	}
	for _, o := range options {
		q.Options = append(q.Options, conversation.Option{ID: o, Label: o})
	}
	return q
}

// knowsApproval reports whether there is or was one with an id.
func (h *Harness) knowsApproval(id string) bool {
	return slices.ContainsFunc(h.broker.Approvals(), func(a permission.Approval) bool { return a.ID == id })
}

// decides takes a message that decides an approval. It reports whether it was
// one; whether its sender may decide is told.
func (h *Harness) decides(m Incoming) bool {
	d, ok := decisionIn(m.Text, h.knowsApproval)
	if !ok {
		return false
	}
	reply := m.Nick
	if h.chat.IsChannel(m.Target) {
		reply = m.Target
	}
	by, err := h.mayDecide(m)
	var answer permission.Answer
	if err == nil {
		answer, err = d.answer(by)
	}
	if err == nil {
		_, err = h.broker.Decide(d.id, answer)
	}
	if err != nil {
		text := m.Nick + ": " + err.Error()
		if hint := fault.HintOf(err); hint != "" {
			text += "; " + hint
		}
		h.background.Go(func() { h.say(reply, text, "") })
	}
	return true
}

// mayDecide returns who decides. A nick can be taken by anybody, an account
// cannot: without one the workspace has to say that nicks are enough.
func (h *Harness) mayDecide(m Incoming) (string, error) {
	owner := h.config.Owner
	switch {
	case owner == "":
		return "", fault.Hintf(fault.Errorf(fault.Denied, "nobody decides for %s in the channels", h.config.Nick), "set 'owner' in the workspace file, or use 'den approvals'")
	case m.Account != "" && h.chat.Same(m.Account, owner):
		return m.Account + " (account)", nil
	case h.config.OwnerByNick && h.chat.Same(m.Nick, owner):
		return m.Nick + " (nick)", nil
	}
	return "", fault.Errorf(fault.Denied, "only the account '%s' decides for %s", owner, h.config.Nick)
}

// notByAgent refuses a decision that comes from the agent's own processes.
func (h *Harness) notByAgent(c *ipc.Client) error {
	if c.IsAway() {
		return errOwnDecision
	}
	pid, err := c.Process()
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "decide for %s: who asks is not known: %w", h.config.Nick, err)
	}
	if slices.Contains(pty.Descendants(os.Getpid()), pid) || pty.HasEnv(pid, tree.RunnerMark) || h.config.Box != nil && !isOutside(pid) {
		return errOwnDecision
	}
	return nil
}

var errOwnDecision = fault.Errorf(fault.Denied, "an agent does not decide what it may do")

// isOutside reports whether a process is in no container: it has the same
// numbers of processes as this one. What cannot be asked is not outside.
func isOutside(pid int) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return false
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return err == nil && own == theirs
}

// Approvals answers approvals.
type Approvals struct {
	Approvals []permission.Approval `json:"approvals"`
	Recent    []permission.Approval `json:"recent,omitempty"` // that ended a short while ago, the newest first
}

func (h *Harness) approvals(context.Context, ipc.Request, *ipc.Client) (any, error) {
	return ApprovalsOf(h.broker), nil
}

// ApprovalsOf lists the approvals of a broker that wait for a decision, the
// oldest first, and those that ended a short while ago.
func ApprovalsOf(b *permission.Broker) Approvals {
	return Approvals{Approvals: openApprovals(b), Recent: recentlyEnded(b.Approvals(), time.Now())}
}

// What is told of approvals that ended: who watches a list sees what became of
// those that leave it.
const (
	recentTime = 15 * time.Minute
	recentMost = 20
)

// recentlyEnded returns the approvals that ended a short while ago, the newest
// first.
func recentlyEnded(all []permission.Approval, now time.Time) []permission.Approval {
	var ended []permission.Approval
	for _, a := range all {
		if a.State != permission.Open && now.Sub(a.Decided) < recentTime {
			ended = append(ended, a)
		}
	}
	slices.SortFunc(ended, func(a, b permission.Approval) int { return b.Decided.Compare(a.Decided) })
	return ended[:min(len(ended), recentMost)]
}

func (h *Harness) decide(_ context.Context, r ipc.Request, c *ipc.Client) (any, error) {
	if err := h.notByAgent(c); err != nil {
		return nil, err
	}
	answer, err := h.answerOf(r.Question, r.Option, r.Message)
	if err != nil {
		return nil, err
	}
	answer.Always, answer.By, answer.Why = r.Always, r.By, r.Why
	return h.broker.Decide(r.Question, answer)
}
