package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"den/internal/agent/budget"
	"den/internal/agent/conversation/outbox"
	"den/internal/agent/harness/ipc"
	"den/internal/agent/harness/turns"
	"den/internal/agent/runner"
	"den/internal/agent/webhook"
	"den/internal/base/fault"
)

// deliverAnswers sends answers where their routes say, in order, also those
// that an earlier harness left. An answer that could not be sent is tried
// again: nothing is lost while the server is away.
func (h *Harness) deliverAnswers(ctx context.Context) {
	wait := time.Duration(0)
	retry := time.NewTimer(wait)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.delivered:
		case <-retry.C:
		}
		if h.deliverAll(ctx) {
			wait = 0
			continue
		}
		wait = min(max(2*wait, time.Second), time.Minute)
		retry.Reset(wait)
	}
}

// errAway says that who asked in private is not there, and may come back.
var errAway = errors.New("who asked is away")

// comeBack is how long an answer is kept for somebody who asked in private and
// is not there: a client that has lost its server needs a while, too.
const comeBack = 10 * time.Minute

// deliverAll reports whether nothing is left to deliver.
func (h *Harness) deliverAll(ctx context.Context) bool {
	all := true
	for _, m := range h.runner.Undelivered() {
		err := h.deliver(ctx, m)
		if errors.Is(err, errAway) {
			all = false // and others do not wait for them
			continue
		}
		if err != nil {
			h.logf("deliver an answer: %v", err)
			return false
		}
		if err := h.runner.Delivered(m.ID); err != nil {
			h.logf("note that an answer was delivered: %v", err)
		}
	}
	return all
}

// deliver sends one answer. An error means that it is to be tried again.
func (h *Harness) deliver(ctx context.Context, m outbox.Message) error {
	route := decodeRoute(m.Route)
	if route.Kind != RouteChannel || h.chat == nil {
		return nil // it is kept where who asked finds it
	}
	text := answerText(m, route)
	if text == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	err := h.isThere(ctx, route)
	if err == nil {
		err = h.chat.Send(ctx, route.Target, text, m.ID, m.Updated.Before(h.started) || h.tried == m.ID)
		h.tried = m.ID
	}
	switch kind := fault.KindOf(err); kind {
	case fault.NotFound, fault.Denied, fault.Usage: // nobody is there any more
		if kind == fault.NotFound && !h.chat.IsChannel(route.Target) && h.clock().Sub(m.Updated) < comeBack {
			return errAway
		}
		h.logf("the answer to %s reaches nobody: %v", route.Sender, err)
		return nil
	}
	return err
}

// isThere refuses to answer in private to a nick that is not the account's that
// asked any more.
func (h *Harness) isThere(ctx context.Context, route Route) error {
	if route.Account == "" || h.chat.IsChannel(route.Target) {
		return nil
	}
	people, err := h.chat.Who(ctx, route.Target)
	if err == nil && !slices.ContainsFunc(people, func(p ipc.Person) bool {
		return h.chat.Same(p.Nick, route.Target) && h.chat.Same(p.Account, route.Account)
	}) {
		err = fault.Errorf(fault.NotFound, "'%s' is not the account '%s' now", route.Target, route.Account)
	}
	return err
}

// answerText is what is said to who asked. Silence would leave a person
// waiting; a program would answer that there are no words, and so on.
func answerText(m outbox.Message, route Route) string {
	answer := strings.TrimSpace(m.Answer)
	switch {
	case answer == "" && m.Reason != "":
		return "I could not answer: " + m.Reason
	case answer == "" && !route.Bot:
		return "I have ended my turn without words."
	}
	return answer
}

// listener is what the harness does with what its agent does.
type listener Harness

func (l *listener) TurnBegan(p runner.Prompt, attempt int) {
	l.active.Note()
	l.mu.Lock()
	l.task = firstLine(p.Text)
	l.mu.Unlock()
	isWhisper := l.over.supervisor.Heard(p.ID)
	if attempt == 1 {
		l.over.collector.Begin(!isWhisper && !decodeRoute(p.Route).Bot)
	}
	(*Harness)(l).noteBegin(p, attempt, isWhisper)
	l.screen.turnBegan(p, attempt)
	l.counted = budget.Usage{}
	(*Harness)(l).spend(budget.Usage{Turns: 1}) // whatever becomes of it
}

func (l *listener) Happened(p runner.Prompt, e runner.Event) {
	l.active.Note()
	if e.Kind == runner.Spoke {
		if text := e.Message.Text(); text != "" {
			l.mu.Lock()
			l.said, l.task = firstLine(text), ""
			l.mu.Unlock()
		}
	}
	if e.Kind == runner.Used {
		(*Harness)(l).used(*e.Usage)
	}
	(*Harness)(l).noteEvent(p, e)
	l.over.collector.Event(e)
	l.screen.happened(e)
}

// used counts what an attempt used since it was told last. It is counted at
// once: an attempt may fail, or be cut off by the end of den.
func (h *Harness) used(u runner.Usage) {
	now := budget.Usage{Tokens: u.InputTokens + u.OutputTokens, CostUSD: u.CostUSD}
	more := budget.Usage{Tokens: max(0, now.Tokens-h.counted.Tokens), CostUSD: max(0, now.CostUSD-h.counted.CostUSD)}
	if more == (budget.Usage{}) {
		return
	}
	h.counted.Tokens, h.counted.CostUSD = h.counted.Tokens+more.Tokens, h.counted.CostUSD+more.CostUSD
	h.spend(more)
}

func (l *listener) TurnEnded(p runner.Prompt, o runner.Outcome) {
	h := (*Harness)(l)
	h.active.Note()
	h.mu.Lock()
	h.task = ""
	h.mu.Unlock()
	h.noteEnd(p, o)
	h.screen.turnEnded(o)
	h.endOfTurn(o)
	h.mu.Lock()
	waiting := h.turns[p.ID]
	delete(h.turns, p.ID)
	h.mu.Unlock()
	for _, w := range waiting {
		w <- o // has room
	}
	h.delivered.Set()
}

// endOfTurn tells of a turn that failed.
func (h *Harness) endOfTurn(o runner.Outcome) {
	if h.work != nil {
		if err := h.work.turnEnded(h.clock().Add(-o.Duration), o.Failure != nil); err != nil {
			h.logf("%v", err)
		}
	}
	if o.Failure == nil {
		h.over.collector.End(nil)
		return
	}
	h.over.collector.End(ownFault(o.Failure))
	kind := webhook.AgentError
	if o.Failure.Class == runner.Silent {
		kind = webhook.AgentTimeout
	}
	h.notify(kind, webhook.Error, "", h.config.Nick+" could not finish a turn: "+o.Failure.WithAdvice())
}

// ownFault is the failure, or nil where it is the vendor's: the supervisor
// judges what the agent does, and would have it think about an outage.
func ownFault(f *runner.Failure) error {
	switch f.Class {
	case runner.Auth, runner.Billing, runner.Quota, runner.Overload, runner.NoSession:
		return nil
	}
	return f
}

func (l *listener) Interrupted(p runner.Prompt, f *runner.Failure, until time.Time) {
	l.over.collector.End(ownFault(f))
	l.screen.Notef("the turn failed: %s; den goes on at %s", f.WithAdvice(), until.Format("15:04:05"))
	h := (*Harness)(l)
	h.noteFailure(p, f, until)
	h.tellWaiting(p, f, until)
	h.callPerson(p, f)
}

// callPerson tells of a failure that no waiting mends, once for each message and
// kind: den tries again from time to time.
func (h *Harness) callPerson(p runner.Prompt, f *runner.Failure) {
	id := p.ID + "-" + string(f.Class)
	if f.Class.Retried() || h.toldFailure == id {
		return
	}
	h.toldFailure = id
	h.notify(webhook.AgentError, webhook.Error, "waits", h.config.Nick+" waits for somebody: "+f.WithAdvice())
}

// GaveUp tells of an agent that is left alone.
func (l *listener) GaveUp(f *runner.Failure, until time.Time) {
	l.screen.Notef("the agent failed too often: it is left alone until %s", until.Format("15:04:05"))
	(*Harness)(l).note(turns.Entry{Kind: turns.Note, Text: "the agent failed too often: it is left alone until " + until.Format("15:04:05")})
	text := fmt.Sprintf("%s failed too often and is left alone until %s: %s", l.config.Nick, until.Format("15:04"), f.WithAdvice())
	(*Harness)(l).notify(webhook.AgentError, webhook.Critical, "circuit", text)
}

// longWait is how long an answer may be put off without a word to who asked.
const longWait = 30 * time.Second

// tellWaiting tells who asked that the answer comes later, once for each kind
// of failure. It is called by the listener, one call at a time.
func (h *Harness) tellWaiting(p runner.Prompt, f *runner.Failure, until time.Time) {
	route := decodeRoute(p.Route)
	id := "wait-" + p.ID + "-" + string(f.Class)
	if route.Kind != RouteChannel || h.chat == nil || until.Sub(h.clock()) < longWait || h.toldWaiting == id {
		return
	}
	h.toldWaiting = id
	brief := runner.Failure{Class: f.Class, Message: firstLine(f.Message)}
	text := fmt.Sprintf("%s: I cannot answer yet: %s. I try again at %s.", route.Sender, brief.WithAdvice(), until.Format("15:04"))
	h.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		defer cancel()
		if err := h.chat.Send(ctx, route.Target, text, id, true); err != nil {
			h.logf("tell %s to wait: %v", route.Sender, err)
		}
	})
}

func (l *listener) Exited(e runner.Exit) {
	if e.Code != 0 {
		l.screen.Notef("the agent ended with exit code %d: %s", e.Code, e.Reason)
	}
}

// firstLine is the beginning of a text, for a list.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > 120 {
		line = string(runes[:119]) + "…"
	}
	return line
}

// Route says where the answer to a prompt goes. It is kept with the prompt.
type Route struct {
	Kind   RouteKind `json:"kind"`
	Target string    `json:"target,omitempty"` // of RouteChannel: a channel, or a nick
	Sender string    `json:"sender,omitempty"`
	Bot    bool      `json:"bot,omitempty"` // a program asks, not a person
	// Account is the sender's, or "": what was asked in private is answered to
	// nobody else who has the nick by then.
	Account string `json:"account,omitempty"`
}

// RouteKind is a kind of place. The values are stored: add, never rename.
type RouteKind string

// The kinds of routes. A prompt without a route is answered nowhere but on the
// screen.
const (
	RouteChannel RouteKind = "irc"
	RouteAsker   RouteKind = "ask" // somebody waits on the socket, or looks later
	// The answers to these go nowhere but on the screen.
	RouteNudge  RouteKind = "nudge"  // a message that nobody waits for
	RouteScreen RouteKind = "screen" // a line that was typed on it
)

func (r Route) encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		return "" // a struct of strings always encodes
	}
	return string(data)
}

// decodeRoute returns the zero Route for what is none.
func decodeRoute(s string) Route {
	var r Route
	if json.Unmarshal([]byte(s), &r) != nil {
		return Route{}
	}
	return r
}

// Nudges returns what the harness with a state directory has in its queue of the
// messages that nobody waits for. It may run, or not.
func Nudges(stateDir string) ([]outbox.Message, error) {
	all, err := outbox.Read(runner.QueueDir(stateDir))
	return slices.DeleteFunc(all, func(m outbox.Message) bool { return decodeRoute(m.Route).Kind != RouteNudge }), err
}
