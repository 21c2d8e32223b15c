package ircd

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/chat/irc"
	"den/internal/chat/irc/ircd/history"
)

// handleChatHistory answers the subcommands of draft/chathistory.
func handleChatHistory(s *Server, c *client, m irc.Message) {
	sub := strings.ToUpper(m.Param(0))
	if s.history == nil {
		c.numericLocked(irc.ERR_UNKNOWNCOMMAND, m.Command, "This server keeps no history")
		return
	}
	selectors, known := map[string]int{"BEFORE": 1, "AFTER": 1, "LATEST": 1, "AROUND": 1, "BETWEEN": 2, "TARGETS": 2}[sub]
	if !known {
		c.failLocked(m.Command, "INVALID_PARAMS", printable(m.Param(0)), "Unknown command")
		return
	}
	params := m.Params[1:]
	target := ""
	if sub != "TARGETS" && len(params) > 0 {
		target, params = params[0], params[1:]
	}
	if len(params) < selectors+1 {
		c.failLocked(m.Command, "NEED_MORE_PARAMS", sub, "Missing parameters")
		return
	}
	limit, err := strconv.Atoi(params[selectors])
	if err != nil || limit < 0 {
		c.failLocked(m.Command, "INVALID_PARAMS", sub, printable(params[selectors]), "Invalid limit")
		return
	}
	limit = min(limit, s.cfg.Limits.HistoryPage)
	points := make([]point, selectors)
	for i := range points {
		p, ok := parsePoint(params[i], sub == "LATEST")
		if !ok {
			c.failLocked(m.Command, "INVALID_PARAMS", sub, printable(params[i]), "Invalid message reference")
			return
		}
		points[i] = p
	}
	if sub == "TARGETS" {
		s.historyTargetsLocked(c, points, limit)
		return
	}
	conversations := s.readableLocked(c, target)
	if conversations == nil {
		c.failLocked(m.Command, "INVALID_TARGET", sub, printable(target), "Messages could not be retrieved")
		return
	}
	records, err := selectHistory(s.history, conversations, sub, points, limit)
	if err != nil {
		c.failLocked(m.Command, "MESSAGE_ERROR", sub, target, "Messages could not be retrieved")
		return
	}
	s.sendHistoryLocked(c, target, records)
}

// A point is a place in the history: before the first ID that it covers and
// after the last.
type point struct {
	first, last uint64
}

// parsePoint reads msgid=, timestamp= and, where that is allowed, *.
func parsePoint(s string, star bool) (point, bool) {
	if s == "*" && star {
		return point{}, true
	}
	kind, value, _ := strings.Cut(s, "=")
	switch kind {
	case "msgid":
		id, err := strconv.ParseUint(value, 36, 64)
		return point{id, id}, err == nil && id > 0
	case "timestamp":
		t, err := time.Parse(time.RFC3339Nano, value)
		return point{history.FirstAt(t), history.FirstAt(t.Add(time.Millisecond)) - 1}, err == nil
	}
	return point{}, false
}

func selectHistory(log *history.Log, conversations []string, sub string, points []point, limit int) ([]history.Record, error) {
	p := points[0]
	switch sub {
	case "BEFORE":
		return log.Select(conversations, history.Range{Before: p.first, Newest: true, Limit: limit})
	case "AFTER":
		return log.Select(conversations, history.Range{After: p.last, Limit: limit})
	case "LATEST":
		return log.Select(conversations, history.Range{After: p.last, Newest: true, Limit: limit})
	case "BETWEEN":
		if q := points[1]; p.first <= q.first {
			return log.Select(conversations, history.Range{After: p.last, Before: q.first, Limit: limit})
		} else {
			return log.Select(conversations, history.Range{After: q.last, Before: p.first, Newest: true, Limit: limit})
		}
	}
	before, err := log.Select(conversations, history.Range{Before: p.first, Newest: true, Limit: limit / 2})
	if err != nil {
		return nil, err
	}
	after, err := log.Select(conversations, history.Range{After: p.first - 1, Limit: limit - len(before)})
	return append(before, after...), err
}

// readableLocked returns the conversations that a client means by a target, or
// nil if it may not read them: it must be on the channel, or one of the two. A
// nick means all that the client has talked with under that name, and who has it
// now.
func (s *Server) readableLocked(c *client, target string) []string {
	if strings.HasPrefix(target, "#") {
		if ch := c.channels[fold(target)]; ch != nil {
			return []string{fold(ch.name)}
		}
		return nil
	}
	if !validNick(target) {
		return nil
	}
	self, now := c.identity(), ""
	if peer := s.nicks[fold(target)]; peer != nil {
		now = peer.identity()
	}
	return s.history.Names(func(name string) bool {
		other := otherOf(name, self)
		return other != "" && (other == now || nameOf(other) == fold(target))
	})
}

func (s *Server) sendHistoryLocked(c *client, target string, records []history.Record) {
	batch, end := s.beginBatchLocked(c, "chathistory", target)
	defer end()
	for _, r := range records {
		text, _ := irc.CleanMessage(r.Text) // what is older was stored as it came
		d := &delivery{
			msg: irc.Message{Source: r.Source, Command: r.Command, Params: []string{r.Target, text}},
			id:  encodeID(r.ID), time: r.Time(), account: r.Account,
		}
		for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
			if key == "bot" {
				d.bot = true
				continue
			}
			d.clientTags = append(d.clientTags, irc.Tag{Key: key, Value: irc.Clean(r.Tags[key])})
		}
		c.sendInLocked(d, batch)
	}
}

// beginBatchLocked opens a batch for a client that knows them, and returns its
// name, which is empty for others, and what closes it.
func (s *Server) beginBatchLocked(c *client, params ...string) (batch string, end func()) {
	if !c.caps.has(capBatch) {
		return "", func() {}
	}
	batch = s.batchLocked()
	c.sendLocked(s.messageLocked("BATCH", append([]string{"+" + batch}, params...)...))
	return batch, func() { c.sendLocked(s.messageLocked("BATCH", "-"+batch)) }
}

// historyTargetsLocked lists the conversations with messages between two
// times.
func (s *Server) historyTargetsLocked(c *client, points []point, limit int) {
	from, to := points[0], points[1]
	if from.first > to.first {
		from, to = to, from
	}
	self := c.identity()
	told := map[string]bool{} // one name may have been several
	found := s.history.Conversations(from.last, to.first, limit, func(name string) bool {
		return c.channels[name] != nil || otherOf(name, self) != ""
	})
	batch, end := s.beginBatchLocked(c, "draft/chathistory-targets")
	defer end()
	for _, f := range found {
		name := f.Name
		if ch := c.channels[name]; ch != nil {
			name = ch.name
		} else {
			name = s.nickOfLocked(otherOf(name, self))
		}
		if told[fold(name)] {
			continue
		}
		told[fold(name)] = true
		c.sendInLocked(s.messageLocked("CHATHISTORY", "TARGETS", name, f.Newest.Format(timeLayout)), batch)
	}
}

// otherOf returns the other identity of a conversation of two, or "".
func otherOf(conversation, self string) string {
	a, b, ok := strings.Cut(conversation, ",")
	switch {
	case !ok || strings.HasPrefix(conversation, "#"):
		return ""
	case a == self:
		return b
	case b == self:
		return a
	}
	return ""
}

// nickOfLocked is the nick of an identity that is online, else its name.
func (s *Server) nickOfLocked(identity string) string {
	if c := s.nicks[nameOf(identity)]; c != nil && c.identity() == identity {
		return c.nick
	}
	for _, c := range s.nicks {
		if c.identity() == identity {
			return c.nick
		}
	}
	return nameOf(identity)
}
