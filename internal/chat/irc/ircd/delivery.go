package ircd

import (
	"strconv"
	"time"

	"den/internal/chat/irc"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// encodeID is how clients see the ID of a message.
func encodeID(id uint64) string { return strconv.FormatUint(id, 36) }

// A delivery is a message on its way to many clients. It is encoded once for
// each set of capabilities.
type delivery struct {
	msg        irc.Message // without tags
	id         string      // or empty
	time       time.Time
	account    string // of the sender, or empty
	bot        bool   // the sender says that it is one
	clientTags irc.Tags
	encoded    []encodedLine // few: one for each set of tagCaps among the clients
}

type encodedLine struct {
	caps capSet
	line []byte
}

// tagCaps are the capabilities that change how a message looks.
const tagCaps = capMessageTags | capServerTime | capAccountTag

// tags returns the tags that a client with these capabilities gets.
func (d *delivery) tags(caps capSet) irc.Tags {
	var tags irc.Tags
	if caps.has(capServerTime) {
		tags = append(tags, irc.Tag{Key: "time", Value: d.time.UTC().Format(timeLayout)})
	}
	if caps.has(capAccountTag) && d.account != "" {
		tags = append(tags, irc.Tag{Key: "account", Value: d.account})
	}
	if !caps.has(capMessageTags) {
		return tags
	}
	if d.id != "" {
		tags = append(tags, irc.Tag{Key: "msgid", Value: d.id})
	}
	if d.bot {
		tags = append(tags, irc.Tag{Key: "bot"})
	}
	return append(tags, d.clientTags...)
}

// line returns the message for a client with these capabilities and, if they
// are not empty, tags for it alone.
func (d *delivery) line(caps capSet, own irc.Tags) []byte {
	caps &= tagCaps
	if len(own) > 0 {
		return encode(d.msg, append(own, d.tags(caps)...))
	}
	for _, e := range d.encoded {
		if e.caps == caps {
			return e.line
		}
	}
	line := encode(d.msg, d.tags(caps))
	d.encoded = append(d.encoded, encodedLine{caps, line})
	return line
}

// encode cuts the text at the end of a line that is too long.
func encode(m irc.Message, tags irc.Tags) []byte {
	m.Tags = tags
	line, err := m.Append(nil)
	if err == nil {
		return line
	}
	m.Tags = nil
	last := len(m.Params) - 1
	if last < 0 {
		return nil // no message of this server
	}
	long := m.Params[last]
	short := append(m.Params[:last:last], "")
	m.Params = short
	empty, err := m.Append(nil)
	if err != nil {
		return nil // a parameter that cannot be sent; handlers check them
	}
	if pieces := irc.SplitText(long, irc.MaxBody-len(empty)); len(pieces) > 0 {
		short[last] = pieces[0]
	}
	m.Tags = tags
	line, _ = m.Append(nil) // Best effort: tags of this size are refused when they arrive.
	return line
}

// A response collects what a command with a label is answered with.
type response struct {
	label string
	parts []part
}

type part struct {
	d     *delivery
	batch string // that the message is in, or empty
}

// sendLocked queues a message for a client.
func (c *client) sendLocked(d *delivery) { c.sendInLocked(d, "") }

// sendInLocked queues a message that is in a batch.
func (c *client) sendInLocked(d *delivery, batch string) {
	if c.response != nil {
		c.response.parts = append(c.response.parts, part{d, batch})
		return
	}
	c.pushLocked(d.line(c.caps, batchTag(batch)))
}

// pushLocked queues a line. While a client's line is handled, it is written
// with those of the lines that come with it.
func (c *client) pushLocked(line []byte) {
	if b := c.server.burst; b != nil {
		b.push(c.out, line)
		return
	}
	c.out.push(line)
}

func batchTag(batch string) irc.Tags {
	if batch == "" {
		return nil
	}
	return irc.Tags{{Key: "batch", Value: batch}}
}

// respondLocked sends what was collected: nothing as an ACK, one message with
// the label, more in a batch that has it.
func (c *client) respondLocked() {
	r := c.response
	c.response = nil
	label := irc.Tags{{Key: "label", Value: r.label}}
	switch {
	case len(r.parts) == 0:
		c.pushLocked(c.server.messageLocked("ACK").line(c.caps, label))
	case len(r.parts) == 1 || r.isOneBatch():
		for i, p := range r.parts {
			own := batchTag(p.batch)
			if i == 0 {
				own = label
			}
			c.pushLocked(p.d.line(c.caps, own))
		}
	default:
		c.respondInBatchLocked(r.parts, label)
	}
}

// isOneBatch reports whether the response is a batch already.
func (r *response) isOneBatch() bool {
	first, last := r.parts[0].d.msg, r.parts[len(r.parts)-1].d.msg
	return first.Command == "BATCH" && last.Command == "BATCH" && len(first.Param(0)) > 1 && last.Param(0) == "-"+first.Param(0)[1:]
}

func (c *client) respondInBatchLocked(parts []part, label irc.Tags) {
	batch := c.server.batchLocked()
	c.pushLocked(c.server.messageLocked("BATCH", "+"+batch, "labeled-response").line(c.caps, label))
	for _, p := range parts {
		own := p.batch
		if own == "" {
			own = batch
		}
		c.pushLocked(p.d.line(c.caps, batchTag(own)))
	}
	c.pushLocked(c.server.messageLocked("BATCH", "-"+batch).line(c.caps, nil))
}

// messageLocked is a message of the server.
func (s *Server) messageLocked(command string, params ...string) *delivery {
	return &delivery{msg: irc.Message{Source: s.cfg.Name, Command: command, Params: params}, time: s.cfg.Now()}
}

// eventLocked is a message of a client.
func (s *Server) eventLocked(c *client, command string, params ...string) *delivery {
	return &delivery{
		msg:  irc.Message{Source: c.source(), Command: command, Params: params},
		time: s.cfg.Now(), account: c.account, bot: c.bot,
	}
}

// numericLocked answers a client.
func (c *client) numericLocked(code string, params ...string) {
	c.sendLocked(c.server.messageLocked(code, append([]string{c.displayNick()}, params...)...))
}

// failLocked answers with a standard reply.
func (c *client) failLocked(command, code string, params ...string) {
	if !c.caps.has(capStandardReplies) {
		c.sendLocked(c.server.messageLocked("NOTICE", c.displayNick(), command+": "+params[len(params)-1]))
		return
	}
	c.sendLocked(c.server.messageLocked("FAIL", append([]string{command, code}, params...)...))
}

// A burst is the clients that got lines while what one client sent at once is
// handled. They are written to when all of it is: once, not once a line. Only
// the goroutine that reads the sender uses it.
type burst struct{ waiting []*outbox }

// keptBurst is how many clients a burst has room for when it is empty.
const keptBurst = 64

func (b *burst) push(o *outbox, line []byte) {
	if o.hold(line) {
		b.waiting = append(b.waiting, o)
	}
}

// release has all lines of the burst written. It is called before its
// goroutine waits for anything.
func (b *burst) release() {
	for _, o := range b.waiting {
		o.release()
	}
	clear(b.waiting) // those who leave must not be kept by it
	b.waiting = b.waiting[:0]
	if cap(b.waiting) > keptBurst {
		b.waiting = nil
	}
}
