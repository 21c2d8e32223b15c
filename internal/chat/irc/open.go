package irc

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// openLocked makes a registered connection the client's: channels are joined,
// then queued requests flow.
func (cn *connection) openLocked() {
	c := cn.client
	cn.registration, cn.open = nil, true
	cn.since, cn.directSince = c.lastSeen, c.lastSeen
	if !c.direct.IsZero() {
		cn.directSince = c.direct
	}
	c.isupport = cn.isupport.clone()
	c.refoldLocked()
	if mode := cn.isupport.Tokens["BOT"]; c.cfg.Bot && mode != "" {
		cn.sendLocked(Message{Command: "MODE", Params: []string{cn.self.Nick, "+" + mode}})
	}
	c.conn, c.lastErr = cn, nil
	c.events.push(Event{Kind: EventConnected, Time: time.Now(), Subject: cn.self.Nick})
	cn.rejoinLocked()
	cn.missedLocked()
	close(c.ready)
	c.queue.wake.Set()
}

// refoldLocked adapts names to the casemapping of the server.
func (c *Client) refoldLocked() {
	desired, cursors := map[string]ChannelKey{}, map[string]Cursor{}
	for _, ch := range c.desired {
		desired[c.isupport.Fold(ch.Name)] = ch
	}
	for target, cursor := range c.cursors {
		cursors[c.isupport.Fold(target)] = cursor
	}
	c.desired, c.cursors = desired, cursors
}

// rejoinLocked joins the desired channels, those with a key first, as one line
// has the keys of its first channels.
func (cn *connection) rejoinLocked() {
	channels := slices.Collect(maps.Values(cn.client.desired))
	slices.SortFunc(channels, func(a, b ChannelKey) int {
		if (a.Key == "") != (b.Key == "") {
			return strings.Compare(b.Key, a.Key)
		}
		return strings.Compare(a.Name, b.Name)
	})
	for len(channels) > 0 {
		n := joinLine(channels)
		cn.sendLocked(joinMessage(channels[:n]))
		for _, ch := range channels[:n] {
			cn.rejoining[cn.isupport.Fold(ch.Name)] = true
		}
		channels = channels[n:]
	}
}

// The bounds of one JOIN. Some servers allow few targets in one line.
const (
	joinBytes   = 400
	joinTargets = 4
)

// joinLine returns how many channels fit in one JOIN.
func joinLine(channels []ChannelKey) int {
	length := 0
	for i, ch := range channels {
		length += len(ch.Name) + len(ch.Key) + 2
		if i > 0 && (length > joinBytes || i == joinTargets) {
			return i
		}
	}
	return len(channels)
}

func joinMessage(channels []ChannelKey) Message {
	var names, keys []string
	for _, ch := range channels {
		names = append(names, ch.Name)
		if ch.Key != "" {
			keys = append(keys, ch.Key)
		}
	}
	m := Message{Command: "JOIN", Params: []string{strings.Join(names, ",")}}
	if len(keys) > 0 {
		m.Params = append(m.Params, strings.Join(keys, ","))
	}
	return m
}

// regainNick asks for the configured nick from time to time while we have
// another.
func (cn *connection) regainNick() {
	tick := time.NewTicker(cn.client.cfg.Limits.Regain)
	defer tick.Stop()
	for {
		select {
		case <-cn.life.Done():
			return
		case <-tick.C:
			cn.client.mu.Lock()
			cn.regainLocked()
			cn.client.mu.Unlock()
		}
	}
}

func (cn *connection) regainLocked() {
	want := cn.client.cfg.Nick
	if cn.open && !cn.isupport.CaseMapping.Equal(cn.self.Nick, want) && len(want) <= cn.isupport.NickLen {
		cn.sendLocked(Message{Command: "NICK", Params: []string{want}})
	}
}
