package irc

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"den/internal/base/fault"
)

// A taker collects the messages of an answer, as request.take does.
type taker func(cn *connection, m Message) (used, last bool)

// query makes a request that the server always answers.
func (c *Client) query(ctx context.Context, command string, params, about []string, take taker) error {
	return c.queryFenced(ctx, command, params, about, false, take)
}

// queryFenced can be told that some servers do not end the answer, or give
// none.
func (c *Client) queryFenced(ctx context.Context, command string, params, about []string, fenced bool, take taker) error {
	doing := strings.ToLower(command)
	if len(params) > 0 {
		doing += " " + params[0]
	}
	for _, name := range about {
		if !validTarget(name) {
			return fault.Errorf(fault.Usage, "%s: %q is not a valid name", doing, name)
		}
	}
	r := newRequest(doing, Message{Command: command, Params: params})
	r.fenced = fenced
	support := c.ISupport()
	for _, name := range about {
		r.about = append(r.about, support.Fold(name))
	}
	r.take = func(m Message) (bool, bool) {
		if c.conn == nil {
			return false, false
		}
		return take(c.conn, m)
	}
	return c.ask(ctx, r)
}

// Join joins a channel. The client joins it again after a reconnect, until it
// leaves or is kicked.
func (c *Client) Join(ctx context.Context, channel, key string) error {
	params := []string{channel}
	if key != "" {
		params = append(params, key)
	}
	if c.isOn(channel) {
		return nil
	}
	err := c.query(ctx, "JOIN", params, []string{channel}, func(cn *connection, m Message) (used, last bool) {
		switch {
		case m.Command == "JOIN" && cn.same(m.Param(0), channel) && cn.isSelf(ParseSource(m.Source).Nick):
			return true, false
		case m.Command == RPL_NAMREPLY && cn.same(m.Param(2), channel), m.Command == RPL_TOPIC && cn.same(m.Param(1), channel):
			return true, false
		}
		end := m.Command == RPL_ENDOFNAMES && cn.same(m.Param(1), channel)
		return end, end
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.desired[c.isupport.Fold(channel)] = ChannelKey{channel, key}
	return nil
}

func (c *Client) isOn(channel string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil && c.conn.joined[c.conn.isupport.Fold(channel)] != ""
}

func (cn *connection) same(a, b string) bool { return cn.isupport.CaseMapping.Equal(a, b) }

// Part leaves a channel.
func (c *Client) Part(ctx context.Context, channel, reason string) error {
	params := []string{channel}
	if reason = oneLine(reason); reason != "" {
		params = append(params, reason)
	}
	return c.query(ctx, "PART", params, []string{channel}, func(cn *connection, m Message) (used, last bool) {
		done := m.Command == "PART" && cn.same(m.Param(0), channel) && cn.isSelf(ParseSource(m.Source).Nick)
		return done, done
	})
}

// textRoom is how much text a topic or a reason can have. Servers cut longer
// ones.
const textRoom = 350

// oneLine makes text fit for one line.
func oneLine(text string) string {
	if pieces := SplitText(strings.Join(strings.Fields(text), " "), textRoom); len(pieces) > 0 {
		return pieces[0]
	}
	return ""
}

// Topic returns a channel's topic, "" where none is set.
func (c *Client) Topic(ctx context.Context, channel string) (topic string, err error) {
	err = c.queryFenced(ctx, "TOPIC", []string{channel}, []string{channel}, true, func(cn *connection, m Message) (used, last bool) {
		if !cn.same(m.Param(1), channel) {
			return false, false
		}
		switch m.Command {
		case RPL_TOPIC:
			topic = m.Last()
			return true, false // who set it may follow
		case RPL_NOTOPIC, RPL_TOPICWHOTIME:
			return true, true
		}
		return false, false
	})
	return topic, err
}

// SetTopic changes a channel's topic.
func (c *Client) SetTopic(ctx context.Context, channel, text string) error {
	return c.queryFenced(ctx, "TOPIC", []string{channel, oneLine(text)}, []string{channel}, true, func(cn *connection, m Message) (used, last bool) {
		done := m.Command == "TOPIC" && cn.same(m.Param(0), channel)
		return done, done
	})
}

// A Member is somebody on a channel.
type Member struct {
	Nick     string
	Prefixes string // @ for operators, + for voice, and what else the server has
}

// Names returns who is on a channel. A channel that nobody is on has no
// members.
func (c *Client) Names(ctx context.Context, channel string) ([]Member, error) {
	var members []Member
	err := c.query(ctx, "NAMES", []string{channel}, []string{channel}, func(cn *connection, m Message) (used, last bool) {
		switch {
		case m.Command == RPL_NAMREPLY && cn.same(m.Param(2), channel):
			for _, name := range strings.Fields(m.Last()) {
				signs, nick := cn.isupport.SplitPrefixes(name)
				members = append(members, Member{ParseSource(nick).Nick, signs})
			}
			return true, false
		case m.Command == RPL_ENDOFNAMES && (cn.same(m.Param(1), channel) || m.Param(1) == "*"):
			return true, true
		}
		return false, false
	})
	return members, err
}

// A User is a row of WHO.
type User struct {
	Source
	Channel  string // or "*"
	RealName string
	Account  string // or empty: not logged in, or the server does not tell
	Away     bool
}

// whoToken marks our extended questions.
const whoToken = "377"

// Who returns the users on a channel, or those that a mask names.
func (c *Client) Who(ctx context.Context, mask string) ([]User, error) {
	params := []string{mask}
	if c.ISupport().WHOX {
		params = append(params, "%tcuhnfar,"+whoToken)
	}
	var users []User
	err := c.query(ctx, "WHO", params, []string{mask}, func(cn *connection, m Message) (used, last bool) {
		switch {
		case m.Command == RPL_WHOREPLY && len(m.Params) >= 8:
			_, real, _ := strings.Cut(m.Last(), " ")
			users = append(users, newUser(m.Params[1], Source{m.Params[5], m.Params[2], m.Params[3]}, m.Params[6], real, ""))
			return true, false
		case m.Command == RPL_WHOSPCRPL && m.Param(1) == whoToken && len(m.Params) >= 9:
			users = append(users, newUser(m.Params[2], Source{m.Params[5], m.Params[3], m.Params[4]}, m.Params[6], m.Last(), m.Params[7]))
			return true, false
		}
		end := m.Command == RPL_ENDOFWHO
		return end, end
	})
	return users, err
}

func newUser(channel string, source Source, flags, realName, account string) User {
	if account == "0" {
		account = ""
	}
	return User{Source: source, Channel: channel, RealName: realName, Account: account, Away: strings.HasPrefix(flags, "G")}
}

// A Listed channel is a row of LIST.
type Listed struct {
	Name    string
	Members int
	Topic   string
}

// List returns the channels of the server.
func (c *Client) List(ctx context.Context) ([]Listed, error) {
	var channels []Listed
	err := c.query(ctx, "LIST", nil, nil, func(_ *connection, m Message) (used, last bool) {
		switch m.Command {
		case RPL_LISTSTART:
			return true, false
		case RPL_LIST:
			n, _ := strconv.Atoi(m.Param(2)) // Best effort: no number is nobody.
			channels = append(channels, Listed{m.Param(1), n, m.Param(3)})
			return true, false
		}
		return m.Command == RPL_LISTEND, m.Command == RPL_LISTEND
	})
	return channels, err
}

// A Whois is what a server tells of a user.
type Whois struct {
	Source
	RealName string
	Channels []string // with the user's prefixes
	Account  string   // or empty: not logged in, or the server does not tell
	Bot      bool
}

// Whois asks for a user. Nobody of that nick is an error of kind not_found.
func (c *Client) Whois(ctx context.Context, nick string) (Whois, error) {
	var who Whois
	err := c.query(ctx, "WHOIS", []string{nick}, []string{nick}, func(cn *connection, m Message) (used, last bool) {
		if !cn.same(m.Param(1), nick) {
			return false, false
		}
		switch m.Command {
		case RPL_WHOISUSER:
			who.Source, who.RealName = Source{m.Param(1), m.Param(2), m.Param(3)}, m.Last()
		case RPL_WHOISSERVER, RPL_AWAY, RPL_WHOISIDLE: // nobody asks
		case RPL_WHOISCHANNELS:
			who.Channels = append(who.Channels, strings.Fields(m.Last())...)
		case RPL_WHOISACCOUNT:
			who.Account = m.Param(2)
		case RPL_WHOISBOT:
			who.Bot = true
		case RPL_ENDOFWHOIS:
			return true, true
		default:
			return false, false
		}
		return true, false
	})
	slices.Sort(who.Channels)
	return who, err
}

// Invite asks a user to join a channel that we are on.
func (c *Client) Invite(ctx context.Context, nick, channel string) error {
	return c.query(ctx, "INVITE", []string{nick, channel}, []string{nick, channel}, func(cn *connection, m Message) (used, last bool) {
		// Servers differ in the order of the two.
		done := m.Command == RPL_INVITING && (cn.same(m.Param(1), nick) || cn.same(m.Param(2), nick))
		return done, done
	})
}

// Kick removes a user from a channel.
func (c *Client) Kick(ctx context.Context, channel, nick, reason string) error {
	return c.query(ctx, "KICK", []string{channel, nick, oneLine(reason)}, []string{channel, nick}, func(cn *connection, m Message) (used, last bool) {
		done := m.Command == "KICK" && cn.same(m.Param(0), channel) && cn.same(m.Param(1), nick)
		return done, done
	})
}

// SetAway tells others that we are away, or with an empty text that we are
// back.
func (c *Client) SetAway(ctx context.Context, text string) error {
	var params []string
	if text = oneLine(text); text != "" {
		params = append(params, text)
	}
	return c.query(ctx, "AWAY", params, nil, func(_ *connection, m Message) (used, last bool) {
		done := m.Command == RPL_NOWAWAY || m.Command == RPL_UNAWAY
		return done, done
	})
}

// SetModes changes the modes of a channel that we are an operator of, or
// those of ourselves.
func (c *Client) SetModes(ctx context.Context, target string, modes ...string) error {
	return c.queryFenced(ctx, "MODE", append([]string{target}, modes...), []string{target}, true, func(cn *connection, m Message) (used, last bool) {
		done := m.Command == "MODE" && cn.same(m.Param(0), target)
		return done, done
	})
}
