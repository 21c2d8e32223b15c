package onirc

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/base/fault"
	"den/internal/chat/irc"
)

// agentMark is in the real name of every agent that den runs, and its tags
// after it: standard servers have no other place for them.
const agentMark = "(den)"

// Bounds of what is remembered of others.
const (
	knownFor  = time.Minute // then it is asked again: somebody else may have the nick
	maxKnown  = 1000        // more, and all are asked about again
	askLimit  = 10 * time.Second
	botsToken = "BOT" // of ISUPPORT: the server knows which users are programs
)

// agents knows who of those that speak to the agent is a program, on servers
// that do not say it with each message. It is used from one goroutine.
type agents struct {
	client *irc.Client
	logf   func(string, ...any)
	known  map[string]knownAgent // by folded nick
}

type knownAgent struct {
	program bool
	until   time.Time
}

// tellsBots reports whether the server marks the messages of programs.
func (a *agents) tellsBots() bool {
	return a.client.HasCap("message-tags") && a.client.ISupport().Tokens[botsToken] != ""
}

// isProgram reports whether a nick is that of a program: two agents that take
// each other for people would talk for ever. Who cannot be asked about counts
// as a person.
func (a *agents) isProgram(nick string) bool {
	if a.tellsBots() {
		return false // it would have said so
	}
	key, now := a.client.ISupport().CaseMapping.Fold(nick), time.Now()
	if k, ok := a.known[key]; ok && now.Before(k.until) {
		return k.program
	}
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	who, err := a.client.Whois(ctx, nick)
	if err != nil {
		if fault.KindOf(err) != fault.NotFound { // who has left is nobody
			a.logf("ask who %s is: %v", nick, err)
		}
		return false
	}
	if a.known == nil || len(a.known) >= maxKnown {
		a.known = map[string]knownAgent{}
	}
	program := who.Bot || strings.Contains(who.RealName, agentMark)
	a.known[key] = knownAgent{program: program, until: now.Add(knownFor)}
	return program
}

// half is a message of which the server has the first lines only.
type half struct {
	id, target, text string
	said             int      // lines that the server has
	rest             []string // as they were cut then: another host name moves the cuts
}

// maxHalves bounds the messages that are remembered. The oldest goes: if it is
// sent again, it is sent whole.
const maxHalves = 100

// halves remembers how far messages have come whose sending failed, so that
// sending them again says nothing twice. A server with a history tells that
// itself; this is for those without.
type halves struct {
	mu  sync.Mutex // guards all
	all []half     // the oldest first; at most maxHalves
}

// take returns how far a message has come, and forgets it.
func (h *halves) take(id, target, text string) (half, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.all, func(o half) bool { return o.id == id && o.target == target && o.text == text })
	if at < 0 {
		return half{}, false
	}
	found := h.all[at]
	h.all = slices.Delete(h.all, at, at+1)
	return found, true
}

// keep remembers a message that was not sent whole.
func (h *halves) keep(o half) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = slices.DeleteFunc(h.all, func(old half) bool { return old.id == o.id && old.target == o.target && old.text == o.text })
	h.all = append(h.all, o)
	if len(h.all) > maxHalves {
		h.all = slices.Delete(h.all, 0, 1)
	}
}
