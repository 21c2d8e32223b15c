package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"den/internal/conversation"
	"den/internal/fault"
	"den/internal/harness/ipc"
	"den/internal/permission"
	"den/internal/pty"
	"den/internal/supervise"
	"den/internal/webhook"
)

// The options of a question for permission.
const (
	optionApprove = "approve"
	optionDeny    = "deny"
)

// openBroker opens what decides the agent's requests.
func (h *Harness) openBroker() (*permission.Broker, error) {
	return permission.OpenBroker(permission.Options{
		Dir: filepath.Join(h.stateDir, "permission"), Agent: h.config.Agent, Expire: h.config.ApprovalExpiry,
		Settings: permission.Settings{Dir: h.config.Dir, Home: h.options.Getenv("HOME"), Rules: h.config.Permissions, Protected: []string{h.stateDir}},
		Tell:     func(a permission.Approval) { h.approvalTold(a) },
	})
}

// ask decides what the agent asks for.
func (h *Harness) ask(ctx context.Context, r permission.Request) permission.Decision {
	return h.broker.Ask(ctx, r)
}

// answer decides an open question for whoever talks with the agent.
func (h *Harness) answer(_ context.Context, question, option string) error {
	if option != optionApprove && option != optionDeny {
		return fault.Errorf(fault.Usage, "option %q: it is approve or deny", option)
	}
	_, err := h.broker.Decide(question, permission.Answer{Approve: option == optionApprove, By: "the keeper's user"})
	return err
}

// approvalTold shows an approval that was made or decided, and asks the owner.
func (h *Harness) approvalTold(a permission.Approval) {
	if h.broker == nil {
		return // it is being opened, and tells what an earlier harness left
	}
	h.runner.SetQuestion(h.openQuestion())
	text := requestText(a.Request)
	if a.State != permission.Open {
		h.screen.Notef("%s %s: %s", a.ID, a.State, decidedText(a))
		h.tellOwner(fmt.Sprintf("%s is %s. %s", a.ID, a.State, decidedText(a)), "approval-"+a.ID+"-end")
		return
	}
	h.screen.Notef("asks %s: %s (%s)", a.ID, text, a.Asked)
	h.tellOwner(fmt.Sprintf("May I? %s: %s (%s). Answer '@%s approve %s' or '@%s deny %s', with 'always' for the like of it too. It expires at %s.",
		a.ID, text, a.Asked, h.config.Nick, a.ID, h.config.Nick, a.ID, a.Expires.Format("15:04")), "approval-"+a.ID)
	h.notify(webhook.AgentApproval, webhook.Warning, a.ID, fmt.Sprintf("%s asks for permission %s: %s", h.config.Nick, a.ID, text))
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

// tellOwner says something to who decides, if that is somebody in the channels.
// It does not hold up the agent.
func (h *Harness) tellOwner(text, id string) {
	if h.chat == nil || h.config.Owner == "" {
		return
	}
	h.background.Go(func() { h.say(h.config.Owner, text, id) })
}

// openApprovals lists those that wait for a decision, the oldest first.
func (h *Harness) openApprovals() []permission.Approval {
	open := []permission.Approval{}
	for _, a := range h.broker.Approvals() {
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
	return &conversation.Question{
		ID: a.ID, Kind: conversation.Permission, Text: requestText(a.Request),
		Options: []conversation.Option{{ID: optionApprove, Label: "approve"}, {ID: optionDeny, Label: "deny"}},
	}
}

// decides takes a message that decides an approval. It reports whether it was
// one; whether its sender may decide is told.
func (h *Harness) decides(m Incoming) bool {
	words := strings.Fields(m.Text)
	for len(words) > 0 && strings.HasPrefix(words[0], "@") {
		words = words[1:]
	}
	if len(words) < 2 || len(words) > 3 || words[0] != optionApprove && words[0] != optionDeny {
		return false
	}
	always := len(words) == 3 && words[2] == "always"
	if len(words) == 3 && !always {
		return false
	}
	reply := m.Nick
	if h.chat.IsChannel(m.Target) {
		reply = m.Target
	}
	by, err := h.mayDecide(m)
	if err == nil {
		_, err = h.broker.Decide(words[1], permission.Answer{Approve: words[0] == optionApprove, Always: always, By: by})
	}
	if err != nil {
		h.background.Go(func() { h.say(reply, m.Nick+": "+err.Error(), "") })
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
	pid, err := c.Process()
	if fault.KindOf(err) == fault.Unsupported && runtime.GOOS != "linux" {
		return nil // nobody can tell there
	}
	if err != nil {
		return fault.Errorf(fault.Denied, "decide for %s: who asks is not known: %w", h.config.Nick, err)
	}
	if slices.Contains(pty.Descendants(os.Getpid()), pid) || pty.HasEnv(pid, supervise.RunnerMark) || h.config.Box != nil && !isOutside(pid) {
		return fault.Errorf(fault.Denied, "an agent does not decide what it may do")
	}
	return nil
}

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
}

func (h *Harness) approvals(context.Context, ipc.Request, *ipc.Client) (any, error) {
	return Approvals{Approvals: h.openApprovals()}, nil
}

func (h *Harness) decide(_ context.Context, r ipc.Request, c *ipc.Client) (any, error) {
	if err := h.notByAgent(c); err != nil {
		return nil, err
	}
	if r.Option != optionApprove && r.Option != optionDeny {
		return nil, fault.Errorf(fault.Usage, "option %q: it is approve or deny", r.Option)
	}
	return h.broker.Decide(r.Question, permission.Answer{Approve: r.Option == optionApprove, Always: r.Always, By: r.By, Why: r.Why})
}
