package irc

import (
	"strings"
	"time"

	"den/internal/base/fault"
)

// handle handles one message of the server.
func (cn *connection) handle(m Message) {
	c := cn.client
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.Command == "PING":
		cn.sendLocked(Message{Command: "PONG", Params: m.Params})
	case m.Command == "ERROR":
		cn.failLocked(fault.Errorf(fault.Unreachable, "the IRC server closed the connection: %s", m.Last()))
	case cn.registration != nil:
		cn.registerLocked(m)
	case m.Command == "BATCH":
		cn.batchLocked(m)
	default:
		cn.routeLocked(m)
	}
}

// routeLocked puts a message into its batch, or handles it.
func (cn *connection) routeLocked(m Message) {
	label, single := m.Tags.Value("label"), true
	if b := cn.batches[m.Tags.Value("batch")]; b != nil {
		if b.collects() {
			b.add(m)
			return
		}
		label, single = b.label, false
	}
	cn.observeLocked(m)
	cn.answerLocked(m, label, single && label != "")
}

// observeLocked updates what we know and tells the caller.
func (cn *connection) observeLocked(m Message) {
	from := ParseSource(m.Source)
	own := cn.isSelf(from.Nick)
	e := cn.eventLocked(m, from, own)
	switch m.Command {
	case "CAP":
		cn.capLocked(m)
		return
	case RPL_ISUPPORT:
		cn.supportLocked(m)
		cn.client.isupport = cn.isupport.clone()
		return
	case RPL_VISIBLEHOST:
		cn.self.User, cn.self.Host = "", "" // learned again from the next message of ours
		return
	case "CHGHOST":
		if own {
			cn.self.User, cn.self.Host = m.Param(0), m.Param(1)
		}
		return
	case "PRIVMSG", "NOTICE", "TAGMSG":
		cn.messageLocked(m, e)
		return
	case "JOIN":
		e.Kind, e.Channel = EventJoin, m.Param(0)
		cn.joinedLocked(m, from, own, e.Time)
	case "PART":
		e.Kind, e.Channel, e.Text = EventPart, m.Param(0), m.Param(1)
		if own {
			cn.leftLocked(m.Param(0))
		}
	case "KICK":
		e.Kind, e.Channel, e.Subject, e.Text = EventKick, m.Param(0), m.Param(1), m.Param(2)
		if cn.isSelf(m.Param(1)) {
			cn.leftLocked(m.Param(0))
		}
	case "QUIT":
		e.Kind, e.Text = EventQuit, m.Param(0)
		cn.nickFreedLocked(from.Nick)
	case "NICK":
		e.Kind, e.Subject = EventNick, m.Param(0)
		if own {
			cn.self.Nick = m.Param(0)
		} else {
			cn.nickFreedLocked(from.Nick)
		}
	case "TOPIC":
		e.Kind, e.Channel, e.Text = EventTopic, m.Param(0), m.Param(1)
	case "INVITE":
		e.Kind, e.Subject, e.Channel = EventInvite, m.Param(0), m.Param(1)
	case "AWAY":
		e.Kind, e.Text = EventAway, m.Param(0)
	default:
		cn.rejoinFailedLocked(m)
		return
	}
	cn.client.events.push(e)
}

func (cn *connection) isSelf(nick string) bool {
	return cn.isupport.CaseMapping.Equal(nick, cn.self.Nick)
}

// eventLocked fills in what all events have.
func (cn *connection) eventLocked(m Message, from Source, own bool) Event {
	e := Event{From: from, Account: m.Tags.Value("account"), Own: own, Tags: m.Tags, Bot: isBot(m.Tags), Target: m.Param(0)}
	var err error
	if e.Time, err = time.Parse(time.RFC3339Nano, m.Tags.Value("time")); err != nil {
		e.Time = time.Now() // the server does not tell
	}
	return e
}

// joinedLocked notes that somebody joined a channel.
func (cn *connection) joinedLocked(m Message, from Source, own bool, at time.Time) {
	if !own {
		return
	}
	c, name := cn.client, m.Param(0)
	folded := cn.isupport.Fold(name)
	cn.self.User, cn.self.Host = from.User, from.Host
	cn.joined[folded] = name
	if cn.rejoining[folded] {
		delete(cn.rejoining, folded)
	}
	if _, known := c.cursors[folded]; known {
		cn.fetchLocked(name)
	} else {
		c.cursors[folded] = Cursor{Time: at}
	}
}

// leftLocked notes that we are not on a channel any more, and do not want to
// be.
func (cn *connection) leftLocked(name string) {
	folded := cn.isupport.Fold(name)
	delete(cn.joined, folded)
	delete(cn.client.desired, folded)
	delete(cn.client.cursors, folded)
}

// nickFreedLocked takes our nick back when its holder lets it go.
func (cn *connection) nickFreedLocked(nick string) {
	if cn.isupport.CaseMapping.Equal(nick, cn.client.cfg.Nick) {
		cn.regainLocked()
	}
}

// rejoinFailedLocked reports a channel that could not be joined again. It is
// tried again with the next connection.
func (cn *connection) rejoinFailedLocked(m Message) {
	refusal := refusalOf(m)
	if refusal == nil || len(m.Params) < 3 {
		return
	}
	folded := cn.isupport.Fold(m.Params[1])
	if !cn.rejoining[folded] {
		return
	}
	delete(cn.rejoining, folded)
	cn.client.events.push(Event{Kind: EventJoinFailed, Time: time.Now(), Channel: m.Params[1], Err: refusal.asError("join " + m.Params[1] + " again")})
}

// messageLocked tells the caller of a message, unless it is known already or
// waits for the history before it.
func (cn *connection) messageLocked(m Message, e Event) {
	e = cn.completeMessage(m, e)
	key := cn.conversation(e)
	if held, holding := cn.holding[key]; holding {
		if len(held) < maxHeld {
			cn.holding[key] = append(held, e)
			return
		}
		cn.client.events.push(Event{Kind: EventDropped, Dropped: 1, Time: e.Time, Channel: e.Channel})
		return
	}
	cn.deliverLocked(e)
}

// conversation is the key of held messages: all direct ones are held together.
func (cn *connection) conversation(e Event) string { return cn.isupport.Fold(e.Channel) }

// completeMessage fills in what events of messages have.
func (cn *connection) completeMessage(m Message, e Event) Event {
	e.Kind, e.Command, e.ID = EventMessage, m.Command, m.Tags.Value("msgid")
	if m.Command != "TAGMSG" {
		e.Text = m.Last()
	}
	name := strings.TrimLeft(e.Target, cn.isupport.StatusMsg)
	switch {
	case cn.isupport.IsChannel(name):
		e.Channel = name
	case e.Own:
		e.Peer = e.Target
	default:
		e.Peer = e.From.Nick
	}
	return e
}

// deliverLocked gives a message to the caller, once.
func (cn *connection) deliverLocked(e Event) {
	c := cn.client
	if e.ID != "" && !c.seen.add(e.ID) {
		return
	}
	target := e.Channel
	if target == "" {
		target = e.Peer
	}
	folded := cn.isupport.Fold(target)
	if last, known := c.cursors[folded]; known || len(c.cursors) < maxCursors {
		if !e.Time.Before(last.Time) {
			c.cursors[folded] = Cursor{ID: e.ID, Time: e.Time}
		}
	}
	if e.Time.After(c.lastSeen) {
		c.lastSeen = e.Time
	}
	if e.Channel == "" && e.Time.After(c.direct) {
		c.direct = e.Time
	}
	if e.Own && cn.self.Host == "" && cn.isSelf(e.From.Nick) {
		cn.self.User, cn.self.Host = e.From.User, e.From.Host
	}
	c.events.push(e)
}
