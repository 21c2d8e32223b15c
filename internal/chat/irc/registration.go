package irc

import (
	"encoding/base64"
	"slices"
	"strings"

	"den/internal/base/fault"
)

// wantedCaps are asked for where the server offers them.
var wantedCaps = []string{
	"account-notify", "account-tag", "away-notify", "batch", "cap-notify", "chghost", "draft/chathistory", "echo-message",
	"extended-join", "invite-notify", "labeled-response", "message-tags", "multi-prefix", "server-time", "setname",
	"standard-replies", "userhost-in-names",
}

// A registration is the state of a connection until the server's greeting is
// complete.
type registration struct {
	offered map[string]string // name to value
	asked   int               // CAP REQ without an answer
	nicks   []string          // to try after the one that is taken
	welcome bool
}

// maxCaps bounds what is kept of a server's offer.
const maxCaps = 256

func newRegistration(cfg ClientConfig) *registration {
	return &registration{offered: map[string]string{}, nicks: alternativeNicks(cfg.Nick)}
}

// shortNick fits on every server.
const shortNick = 9

// alternativeNicks are tried in this order. The last ones are for servers that
// allow short nicks only.
func alternativeNicks(nick string) []string {
	nicks := []string{nick + "_", nick + "__", nick + "-2", nick + "-3"}
	if len(nick) > shortNick {
		nicks = append(nicks, nick[:shortNick])
	}
	stem := nick[:min(len(nick), shortNick-2)]
	return append(nicks, stem+"_", stem+"_2", stem+"_3", stem+"_4")
}

// register sends the first lines.
func (cn *connection) register() {
	cfg := cn.client.cfg
	if cfg.Password != "" {
		cn.send(Message{Command: "PASS", Params: []string{cfg.Password}})
	}
	cn.send(Message{Command: "CAP", Params: []string{"LS", "302"}})
	cn.send(Message{Command: "NICK", Params: []string{cfg.Nick}})
	cn.send(Message{Command: "USER", Params: []string{cfg.User, "0", "*", cfg.RealName}})
}

// registerLocked takes the next step.
func (cn *connection) registerLocked(m Message) {
	reg := cn.registration
	switch m.Command {
	case "CAP":
		cn.capLocked(m)
	case "AUTHENTICATE":
		cn.loginLocked(m.Param(0))
	case RPL_SASLSUCCESS, ERR_SASLALREADY:
		cn.sendLocked(Message{Command: "CAP", Params: []string{"END"}})
	case ERR_NICKNAMEINUSE, ERR_ERRONEUSNICKNAME, ERR_NICKCOLLISION, ERR_UNAVAILRESOURCE:
		cn.nextNickLocked(m)
	case ERR_UNKNOWNCOMMAND, ERR_NOTREGISTERED:
		if cn.client.cfg.Login != nil && (m.Param(1) == "CAP" || m.Param(1) == "AUTHENTICATE") {
			cn.failLocked(noLogin())
		}
	case RPL_WELCOME:
		reg.welcome = true
		cn.self.Nick = m.Param(0)
	case RPL_ISUPPORT:
		cn.supportLocked(m)
	case RPL_ENDOFMOTD, ERR_NOMOTD:
		if reg.welcome {
			cn.openLocked()
		}
	default:
		if refusal := refusalOf(m); refusal != nil && !reg.welcome {
			cn.failLocked(refusal.asError("register at IRC server"))
		}
	}
}

func (cn *connection) supportLocked(m Message) {
	if len(m.Params) > 2 {
		cn.isupport.Apply(m.Params[1 : len(m.Params)-1])
	}
}

func noLogin() error {
	return fault.Hintf(fault.Errorf(fault.Unsupported, "log in at IRC server: it offers no SASL"), "remove the login, or use another server")
}

func (cn *connection) nextNickLocked(m Message) {
	reg := cn.registration
	if len(reg.nicks) == 0 {
		cn.failLocked(refusalOf(m).asError("register at IRC server"))
		return
	}
	cn.self.Nick = reg.nicks[0]
	reg.nicks = reg.nicks[1:]
	cn.sendLocked(Message{Command: "NICK", Params: []string{cn.self.Nick}})
}

// capLocked handles CAP, during the registration and after it.
func (cn *connection) capLocked(m Message) {
	names := strings.Fields(m.Last())
	switch strings.ToUpper(m.Param(1)) {
	case "LS":
		cn.offeredLocked(names, m.Param(2) == "*" && len(m.Params) > 3)
	case "NEW":
		cn.requestCapsLocked(names)
	case "DEL":
		for _, name := range names {
			delete(cn.caps, name)
		}
	case "ACK":
		for _, name := range names {
			if off, ok := strings.CutPrefix(name, "-"); ok {
				delete(cn.caps, off)
			} else if len(cn.caps) < maxCaps {
				cn.caps[name] = true
			}
		}
		cn.negotiatedLocked()
	case "NAK":
		cn.negotiatedLocked()
	}
}

func (cn *connection) offeredLocked(names []string, more bool) {
	reg := cn.registration
	if reg == nil {
		return
	}
	for _, name := range names {
		name, value, _ := strings.Cut(name, "=")
		if len(reg.offered) < maxCaps {
			reg.offered[name] = value
		}
	}
	if more {
		return
	}
	offered := make([]string, 0, len(reg.offered))
	for name := range reg.offered {
		offered = append(offered, name)
	}
	slices.Sort(offered)
	cn.requestCapsLocked(offered)
	reg.asked++
	cn.negotiatedLocked()
}

// capLine is how many bytes of names one CAP REQ has.
const capLine = 400

// requestCapsLocked asks for what we want of the offered names.
func (cn *connection) requestCapsLocked(offered []string) {
	var line []string
	length := 0
	flush := func() {
		if len(line) > 0 {
			if cn.registration != nil {
				cn.registration.asked++
			}
			cn.sendLocked(Message{Command: "CAP", Params: []string{"REQ", strings.Join(line, " ")}})
		}
		line, length = nil, 0
	}
	for _, name := range offered {
		name, _, _ = strings.Cut(name, "=")
		if !slices.Contains(wantedCaps, name) && !(name == "sasl" && cn.client.cfg.Login != nil && cn.registration != nil) {
			continue
		}
		if length+len(name) > capLine {
			flush()
		}
		line, length = append(line, name), length+len(name)+1
	}
	flush()
}

// negotiatedLocked goes on when all requests for capabilities are answered.
func (cn *connection) negotiatedLocked() {
	reg := cn.registration
	if reg == nil || reg.welcome {
		return
	}
	if reg.asked--; reg.asked > 0 {
		return
	}
	login := cn.client.cfg.Login
	switch {
	case login == nil:
		cn.sendLocked(Message{Command: "CAP", Params: []string{"END"}})
	case !cn.caps["sasl"]:
		cn.failLocked(noLogin())
	default:
		cn.sendLocked(Message{Command: "AUTHENTICATE", Params: []string{"PLAIN"}})
	}
}

// saslChunk is the length at which a response goes on in the next line.
const saslChunk = 400

func (cn *connection) loginLocked(challenge string) {
	login := cn.client.cfg.Login
	if login == nil || challenge != "+" {
		return
	}
	response := base64.StdEncoding.EncodeToString([]byte("\x00" + login.Account + "\x00" + login.Password))
	for {
		n := min(len(response), saslChunk)
		part := response[:n]
		if part == "" {
			part = "+"
		}
		cn.sendLocked(Message{Command: "AUTHENTICATE", Params: []string{part}})
		if response = response[n:]; n < saslChunk {
			return
		}
	}
}

// botTags mark the messages of programs: the first is set by a server for
// users with the bot mode, the others by senders.
var botTags = []string{"bot", "+draft/bot", "+bot"}

func isBot(tags Tags) bool {
	for _, key := range botTags {
		if _, ok := tags.Get(key); ok {
			return true
		}
	}
	return false
}
