package onirc

import (
	"context"
	"strings"
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
