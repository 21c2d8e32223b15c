package web

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"den/internal/agent/harness/turns"
	"den/internal/base/brief"
	"den/internal/base/fault"
	"den/internal/chat/irc/ircd/history"
	"den/internal/keeper"
	"den/internal/ui/dashboard/fleet"
	"den/internal/ui/dashboard/nights"
)

const (
	channelPage  = 100  // messages that a page gets at once
	channelsRead = 5000 // of the newest messages, in which channels are looked for
)

// message is one line of a channel.
type message struct {
	ID      uint64    `json:"id"`
	At      time.Time `json:"at"`
	From    string    `json:"from"`              // the nick
	Account string    `json:"account,omitempty"` // by which it is known who that is
	Kind    string    `json:"kind"`              // says, does, notice or topic
	Text    string    `json:"text"`
	Cut     bool      `json:"cut,omitempty"`
}

// channelPart is a part of a channel's log, the oldest message first.
type channelPart struct {
	Messages []message `json:"messages"`
	State    string    `json:"state"` // differs when there is something new
	Next     uint64    `json:"next,omitempty"`
	More     bool      `json:"more,omitempty"`
}

// channel is one channel in the list.
type channel struct {
	Name string  `json:"name"`
	Last message `json:"last"`
}

type channelList struct {
	Channels []channel `json:"channels"`
	State    string    `json:"state"`
}

// routeChannels serves the log of the workspace's chat server.
func (s *Server) routeChannels(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/channels", answered(s.channels))
	mux.HandleFunc("GET /api/channels/{name}", answered(s.channel))
}

// chatLog returns where the log is, and its state. same says that the page has
// seen that.
func (s *Server) chatLog(r *http.Request) (dir, state string, same bool, err error) {
	dir = s.hub.keeper.ChatHistory()
	state, err = history.State(dir)
	return dir, state, state != "" && state == r.URL.Query().Get("state"), err
}

// channels answers with the channels of the newest messages, the last used first.
func (s *Server) channels(r *http.Request) (any, error) {
	dir, state, same, err := s.chatLog(r)
	if err != nil {
		return nil, err
	}
	out := channelList{Channels: []channel{}, State: state}
	if !same {
		page, err := history.Read(dir, 0, channelsRead, isChannelTalk)
		if err != nil {
			return nil, err
		}
		last := map[string]history.Record{}
		for _, record := range page.Records {
			last[record.Conversation] = record
		}
		for _, record := range last {
			out.Channels = append(out.Channels, channel{record.Conversation, newMessage(record)})
		}
		slices.SortFunc(out.Channels, func(a, b channel) int { return cmp.Compare(b.Last.ID, a.Last.ID) })
	}
	return out, nil
}

// channel answers with messages of one channel: the newest, or those before one.
func (s *Server) channel(r *http.Request) (any, error) {
	before, err := number(r, "before", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	dir, state, same, err := s.chatLog(r)
	if err != nil {
		return nil, err
	}
	out := channelPart{Messages: []message{}, State: state}
	if before > 0 || !same {
		name := r.PathValue("name")
		page, err := history.Read(dir, before, channelPage, func(x history.Record) bool { return isChannelTalk(x) && x.Conversation == name })
		if err != nil {
			return nil, err
		}
		for _, record := range page.Records {
			out.Messages = append(out.Messages, newMessage(record))
		}
		out.Next, out.More = page.Next, page.More
	}
	return out, nil
}

// isChannelTalk reports whether a record is what somebody said in a channel.
// What people and agents say in private is not shown.
func isChannelTalk(r history.Record) bool {
	if !strings.HasPrefix(r.Conversation, "#") && !strings.HasPrefix(r.Conversation, "&") {
		return false
	}
	return r.Command == "PRIVMSG" || r.Command == "NOTICE" || r.Command == "TOPIC"
}

func newMessage(r history.Record) message {
	nick, _, _ := strings.Cut(r.Source, "!")
	m := message{ID: r.ID, At: r.Time(), From: nick, Account: r.Account, Kind: "says"}
	m.Text, m.Cut = brief.Bytes(r.Text, maxShown)
	switch r.Command {
	case "NOTICE":
		m.Kind = "notice"
	case "TOPIC":
		m.Kind = "topic"
	}
	if text, ok := strings.CutPrefix(m.Text, "\x01ACTION "); ok {
		m.Kind, m.Text = "does", strings.TrimSuffix(text, "\x01")
	}
	return m
}

const turnsPage = 200 // entries that a page gets at once

// turnsPart is a part of an agent's conversation.
type turnsPart struct {
	turns.Page
	State string `json:"state"` // differs when there is something new
}

// keepMinds notes where the harnesses of agents keep their files. Those that a
// keeper does not tell of any more stay: what was said is still there.
func (h *hub) keepMinds(agents []keeper.AgentStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range agents {
		if a.Harness != "" {
			h.harnesses[a.Name] = h.keeper.Harness(a.Harness)
		}
	}
}

// harness is where the harness of an agent keeps its files. Requests never name a
// path.
func (h *hub) harness(agent string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dir, ok := h.harnesses[agent]
	if !ok {
		return "", fault.Hintf(fault.Errorf(fault.NotFound, "no conversation of '%s' is kept", agent), "den keeps those of agents that it drives by their protocol; of others it has the terminal")
	}
	return dir, nil
}

// turns answers with the newest entries of a conversation, or with those before
// or after one.
func (s *Server) turns(r *http.Request) (any, error) {
	before, err := number(r, "before", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	after, err := number(r, "after", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	dir, err := s.hub.harness(q.Get("agent"))
	if err != nil {
		return nil, err
	}
	out := turnsPart{Page: turns.Page{Entries: []turns.Entry{}}}
	if out.State, err = turns.State(dir); err != nil {
		return nil, err
	}
	if before > 0 || out.State == "" || out.State != q.Get("state") {
		if out.Page, err = turns.Read(dir, after, before, turnsPage); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// firstPage is how many ticks a page gets that does not say how many it wants.
const firstPage = 200

// kernels is what a page shows of the agents that sleep and wake.
type kernels struct {
	Agents  []nights.Agent `json:"agents"`
	Problem string         `json:"problem,omitempty"` // why some may be missing
}

// watchNights keeps the agents that sleep and wake up to date until ctx ends.
func (h *hub) watchNights(ctx context.Context) {
	if h.nights == nil {
		return
	}
	fleet.Poll(ctx, fleet.Every, nil, h.lookAtNights, func(raw json.RawMessage, _ error) { h.show(&h.kernels, raw) })
}

// lookAtNights is nil where there are no instances.
func (h *hub) lookAtNights(ctx context.Context) (json.RawMessage, error) {
	agents, problem := h.nights.Agents(ctx, time.Now())
	if len(agents) == 0 && problem == "" {
		return nil, nil
	}
	return encode(kernels{Agents: append([]nights.Agent{}, agents...), Problem: problem}), nil
}

func (s *Server) routeNights(mux *http.ServeMux) {
	const one = "GET /api/kernel/{name}/ticks/{tick}"
	mux.HandleFunc("GET /api/kernel/{name}/ticks", answered(s.ticks))
	mux.HandleFunc(one, answered(s.tick))
	mux.HandleFunc(one+"/transcript", answered(s.transcript))
	s.routePlaying(mux, one+"/terminals/{terminal}/", s.ofTerminal)
}

// ticks answers with a page of ticks, the newest first: n of them, before a
// number.
func (s *Server) ticks(r *http.Request) (any, error) {
	before, err := number(r, "before", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", firstPage, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return s.nights.Ticks(r.PathValue("name"), int(before), int(n))
}

// tick answers with what belongs to one tick.
func (s *Server) tick(r *http.Request) (any, error) {
	n, err := tickOf(r)
	if err != nil {
		return nil, err
	}
	return s.nights.Tick(r.PathValue("name"), n)
}

// transcript answers with a part of a tick's transcript, from an entry on.
func (s *Server) transcript(r *http.Request) (any, error) {
	n, err := tickOf(r)
	if err != nil {
		return nil, err
	}
	from, err := number(r, "from", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return s.nights.Transcript(r.PathValue("name"), n, int(from))
}

// ofTerminal finds one terminal of a tick.
func (s *Server) ofTerminal(r *http.Request) (playable, error) {
	n, err := tickOf(r)
	if err != nil {
		return playable{}, err
	}
	rec, title, err := s.nights.Terminal(r.PathValue("name"), n, r.PathValue("terminal"))
	return playable{rec, title}, err
}

func tickOf(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("tick"))
	if err != nil || n < 1 {
		return 0, fault.Errorf(fault.Usage, "'%s' is not the number of a tick", r.PathValue("tick"))
	}
	return n, nil
}
