package ircd

import (
	"slices"
	"strings"

	"den/internal/chat/irc"
)

// A capSet is the capabilities that a client asked for.
type capSet uint32

const (
	capAccountNotify capSet = 1 << iota
	capAccountTag
	capAwayNotify
	capBatch
	capNotify
	capChatHistory
	capEcho
	capExtendedJoin
	capInviteNotify
	capLabels
	capMessageTags
	capMultiPrefix
	capSASL
	capServerTime
	capSetName
	capStandardReplies
	capUserhostInNames
)

// capNames are the capabilities as clients name them.
var capNames = map[string]capSet{
	"account-notify":    capAccountNotify,
	"account-tag":       capAccountTag,
	"away-notify":       capAwayNotify,
	"batch":             capBatch,
	"cap-notify":        capNotify,
	"draft/chathistory": capChatHistory,
	"echo-message":      capEcho,
	"extended-join":     capExtendedJoin,
	"invite-notify":     capInviteNotify,
	"labeled-response":  capLabels,
	"message-tags":      capMessageTags,
	"multi-prefix":      capMultiPrefix,
	"sasl":              capSASL,
	"server-time":       capServerTime,
	"setname":           capSetName,
	"standard-replies":  capStandardReplies,
	"userhost-in-names": capUserhostInNames,
}

func (s capSet) has(c capSet) bool { return s&c != 0 }

// offered returns the capabilities of this server, sorted by name.
func (s *Server) offered() []string {
	var names []string
	for name := range capNames {
		if s.offers(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *Server) offers(name string) bool {
	switch capNames[name] {
	case 0:
		return false
	case capSASL:
		return s.cfg.Accounts != nil
	case capChatHistory:
		return s.history != nil
	}
	return true
}

func handleCap(s *Server, c *client, m irc.Message) {
	switch sub := strings.ToUpper(m.Param(0)); sub {
	case "LS":
		c.listCapsLocked(m.Param(1))
	case "LIST":
		c.capReplyLocked("LIST", enabled(c.caps))
	case "REQ":
		c.requestCapsLocked(m.Param(1))
	case "END":
		c.negotiating = false
		s.tryRegisterLocked(c)
	default:
		c.numericLocked(irc.ERR_INVALIDCAPCMD, m.Param(0), "Invalid CAP command")
	}
}

func (c *client) listCapsLocked(version string) {
	c.negotiating = c.negotiating || !c.registered
	if version >= "302" && len(version) == 3 {
		c.capVersion = 302
		c.caps |= capNotify
	}
	names := c.server.offered()
	if c.capVersion == 302 {
		for i, name := range names {
			if name == "sasl" {
				names[i] = "sasl=PLAIN"
			}
		}
	}
	c.capReplyLocked("LS", names)
}

func enabled(caps capSet) []string {
	var names []string
	for name, bit := range capNames {
		if caps.has(bit) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// capReplyLocked sends a list of capabilities. All names together fit in one
// line.
func (c *client) capReplyLocked(sub string, names []string) {
	d := c.server.messageLocked("CAP", c.displayNick(), sub, strings.Join(names, " "))
	c.sendLocked(d)
}

// requestCapsLocked turns all of them on or off, or none.
func (c *client) requestCapsLocked(list string) {
	c.negotiating = c.negotiating || !c.registered
	caps, answer := c.caps, "ACK"
	for _, name := range strings.Fields(list) {
		off := strings.HasPrefix(name, "-")
		name = strings.TrimPrefix(name, "-")
		bit := capNames[name]
		switch {
		case !c.server.offers(name), off && bit == capNotify && c.capVersion == 302:
			answer = "NAK"
		case off:
			caps &^= bit
		default:
			caps |= bit
		}
	}
	if answer == "ACK" {
		c.caps = caps
	}
	c.capReplyLocked(answer, []string{list})
}
