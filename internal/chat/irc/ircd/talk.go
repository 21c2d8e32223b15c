package ircd

import (
	"strings"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd/history"
)

// handleMessage handles PRIVMSG, NOTICE and TAGMSG.
func handleMessage(s *Server, c *client, m irc.Message) {
	t := talk{server: s, from: c, command: m.Command, tags: clientOnly(m.Tags)}
	isText := true
	if m.Command == "TAGMSG" {
		if !c.caps.has(capMessageTags) || len(t.tags) == 0 {
			return
		}
	} else {
		t.text, isText = irc.CleanMessage(m.Param(1))
	}
	switch {
	case m.Param(0) == "":
		t.refuseLocked(irc.ERR_NORECIPIENT, "No recipient given ("+m.Command+")")
		return
	case t.text == "" && m.Command != "TAGMSG":
		t.refuseLocked(irc.ERR_NOTEXTTOSEND, "No text to send")
		return
	}
	if !isText {
		t.refuseLocked(irc.ERR_CANNOTSENDTOCHAN, m.Param(0), "Requests of one program to another are not passed on")
		return
	}
	targets := strings.Split(m.Param(0), ",")
	for _, target := range targets[:min(len(targets), maxTargets)] {
		t.toLocked(target)
	}
}

// clientOnly are the tags that a client passes to other clients.
func clientOnly(tags irc.Tags) irc.Tags {
	var own irc.Tags
	for _, tag := range tags {
		if strings.HasPrefix(tag.Key, "+") && irc.Clean(tag.Key) == tag.Key {
			own = append(own, tag)
		}
	}
	return own
}

// A talk is one message on its way.
type talk struct {
	server  *Server
	from    *client
	command string
	text    string
	tags    irc.Tags
}

// refuseLocked answers with an error, unless it is about a NOTICE: programs
// that answer those could talk to each other forever.
func (t *talk) refuseLocked(code string, params ...string) {
	if t.command != "NOTICE" {
		t.from.numericLocked(code, params...)
	}
}

func (t *talk) toLocked(target string) {
	if strings.HasPrefix(target, "#") {
		t.toChannelLocked(target)
		return
	}
	peer := t.server.nicks[fold(target)]
	if peer == nil {
		t.toAbsentLocked(target)
		return
	}
	d := t.acceptLocked(peer.nick, pair(t.from.identity(), peer.identity()))
	if d == nil {
		return
	}
	t.echoLocked(d)
	t.deliverLocked(peer, d)
	if peer.away != "" && t.command == "PRIVMSG" {
		t.from.numericLocked(irc.RPL_AWAY, peer.nick, peer.away)
	}
}

// toAbsentLocked keeps a message for a resident who is away, and refuses one
// for anybody else.
func (t *talk) toAbsentLocked(target string) {
	r, resident := t.server.residents[fold(target)]
	nick := r.nick
	if !resident || t.server.history == nil || t.command == "TAGMSG" {
		t.refuseLocked(irc.ERR_NOSUCHNICK, printable(target), "No such nick/channel")
		return
	}
	d := t.acceptLocked(nick, pair(t.from.identity(), fold(nick)))
	if d == nil {
		return
	}
	t.echoLocked(d)
	if t.command == "PRIVMSG" {
		t.from.numericLocked(irc.RPL_AWAY, nick, "not here now; your message is kept")
	}
}

func (t *talk) toChannelLocked(name string) {
	ch := t.server.channelLocked(name)
	if ch == nil {
		t.refuseLocked(irc.ERR_NOSUCHCHANNEL, printable(name), "No such channel")
		return
	}
	role := ch.members[t.from]
	unvoiced := role == nil || !role.Operator && !role.Voice
	if role == nil && ch.noExternal || unvoiced && (ch.moderated || ch.banned(t.from)) {
		t.refuseLocked(irc.ERR_CANNOTSENDTOCHAN, ch.name, "Cannot send to channel")
		return
	}
	d := t.acceptLocked(ch.name, fold(ch.name))
	if d == nil {
		return
	}
	t.echoLocked(d)
	for peer := range ch.members {
		if peer != t.from {
			t.deliverLocked(peer, d)
		}
	}
}

// acceptLocked stores a message and returns it with its ID, or answers with an
// error and returns nil.
func (t *talk) acceptLocked(target, conversation string) *delivery {
	if len(t.text) > irc.Room(t.from.source(), t.command, target) {
		// Cutting it would lose its end without the sender's knowledge.
		t.refuseLocked(irc.ERR_INPUTTOOLONG, target, "Message was too long for its recipients")
		return nil
	}
	params := []string{target}
	if t.command != "TAGMSG" {
		params = append(params, t.text)
	}
	d := t.server.eventLocked(t.from, t.command, params...)
	d.clientTags = t.tags
	log := t.server.history
	if log == nil || t.command == "TAGMSG" {
		t.server.ids++
		d.id = "x" + encodeID(uint64(t.server.created.UnixMicro())) + "-" + encodeID(t.server.ids)
		return d
	}
	record, err := log.Append(history.Record{
		Conversation: conversation, Command: t.command, Source: d.msg.Source, Account: d.account,
		Target: target, Text: t.text, Tags: storedTags(d),
	})
	if err != nil {
		t.refuseLocked(irc.ERR_UNKNOWNERROR, t.command, target, "The message could not be stored: "+err.Error())
		return nil
	}
	d.id, d.time = encodeID(record.ID), record.Time()
	return d
}

// storedTags are the tags of a message that its history repeats.
func storedTags(d *delivery) map[string]string {
	if len(d.clientTags) == 0 && !d.bot {
		return nil
	}
	tags := map[string]string{}
	for _, tag := range d.clientTags {
		tags[tag.Key] = tag.Value
	}
	if d.bot {
		tags["bot"] = ""
	}
	return tags
}

// echoLocked returns a message to its sender, who knows by it that the server
// accepted it.
func (t *talk) echoLocked(d *delivery) {
	if t.from.caps.has(capEcho) {
		t.from.sendLocked(d)
	}
}

func (t *talk) deliverLocked(peer *client, d *delivery) {
	if t.command != "TAGMSG" || peer.caps.has(capMessageTags) {
		peer.sendLocked(d)
	}
}

// pair names the conversation of two identities.
func pair(a, b string) string {
	if b < a {
		a, b = b, a
	}
	return a + "," + b
}
