package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
	"den/internal/base/mcpserver"
	"den/internal/session/terminals"
)

// channelInstructions are for the model of an agent that has channels.
const channelInstructions = " The channel tools talk with people and other agents in chat channels, as you. " +
	"Your last words of a turn are sent to who asked by themselves: do not send them too."

// channelTools let an agent of a harness, which listens at socket, talk in
// channels as 'den channel' does. Others have no use for them, and do not pay
// for them.
func channelTools(socket string) []tool {
	at := harnessAt(socket)
	const target = `"target":{"type":"string","description":"a #channel or a nick"}`
	const channel = `"channel":{"type":"string"}`
	return []tool{
		{
			Name: "channel_send", Description: "Say something in a channel, or to a person.", Hints: hints{Additive: true},
			Schema: `{"type":"object","properties":{` + target + `,"text":{"type":"string"}},"required":["target","text"]}`,
			Call:   calling(at, sendRequest, func(s ipc.Sent) string { return "sent to " + s.Channel }),
		},
		{
			Name: "channel_read", Description: "The messages of a channel or person that you have not read.", Hints: hints{Additive: true, Closed: true},
			Schema: `{"type":"object","properties":{` + target + `,"limit":{"type":"integer","description":"default 50"}},"required":["target"]}`,
			Call:   calling(at, readRequest, describeMessages),
		},
		{
			Name: "channel_ask", Description: "Ask in a channel, or a person, and wait for the answer: the next message that mentions you.", Hints: hints{Additive: true},
			Schema: `{"type":"object","properties":{` + target + `,"text":{"type":"string"},` + timeoutProperty + `},"required":["target","text"]}`,
			Call:   calling(at, askRequest, func(r ipc.Reply) string { return fmt.Sprintf("<%s> %s", r.Nick, r.Text) }),
		},
		{
			Name: "channel_who", Description: "Who is in a channel; or tell of one nick.", Hints: hints{ReadOnly: true},
			Schema: `{"type":"object","properties":{` + target + `},"required":["target"]}`,
			Call:   calling(at, whoRequest, describePeople),
		},
		{
			Name: "channel_list", Description: "The channels that you are in.", Hints: looks,
			Schema: `{"type":"object","properties":{}}`,
			Call:   calling(at, listRequest, func(j ipc.Joined) string { return strings.Join(j.Channels, "\n") }),
		},
		{
			Name: "channel_join", Description: "Join a channel.", Hints: hints{Additive: true, Idempotent: true},
			Schema: `{"type":"object","properties":{` + channel + `},"required":["channel"]}`,
			Call:   calling(at, joinRequest, func(struct{}) string { return "joined" }),
		},
		{
			Name: "channel_part", Description: "Leave a channel.", Hints: hints{Idempotent: true},
			Schema: `{"type":"object","properties":{` + channel + `},"required":["channel"]}`,
			Call:   calling(at, partRequest, func(struct{}) string { return "left" }),
		},
		{
			Name: "channel_topic", Description: "The topic of a channel; with topic, set it.", Hints: hints{Idempotent: true},
			Schema: `{"type":"object","properties":{` + channel + `,"topic":{"type":"string"}},"required":["channel"]}`,
			Call:   calling(at, topicRequest, func(t ipc.ChannelTopic) string { return t.Topic }),
		},
	}
}

// harnessAt is the socket of a harness.
type harnessAt string

// ask makes one request, and returns what the agent's supervisor has to say
// beside the answer.
func (at harnessAt) ask(ctx context.Context, r ipc.Request, answer any) (said []string, err error) {
	conn, err := ipc.Dial(ctx, string(at))
	if err != nil {
		return nil, err
	}
	defer conn.Close() // Best effort: it was answered.
	conn.OnWhisper = func(w ipc.Whisper) { said = append(said, fmt.Sprintf("[whisper:%s] %s", w.Kind, w.Message)) }
	warnings, err := conn.Call(ctx, r, answer)
	for _, w := range warnings {
		said = append(said, "warning: "+w)
	}
	return said, err
}

// calling makes a tool of a request: A are its arguments, T is its answer.
func calling[A, T any](at harnessAt, request func(A) (ipc.Request, error), text func(T) string) func(context.Context, *terminals.Client, mcpserver.Call) (mcpserver.Answer, error) {
	return func(ctx context.Context, _ *terminals.Client, call mcpserver.Call) (mcpserver.Answer, error) {
		a, err := decode[A](call.Arguments)
		if err != nil {
			return mcpserver.Answer{}, err
		}
		r, err := request(a)
		if err != nil {
			return mcpserver.Answer{}, err
		}
		var answer T
		said, err := at.ask(ctx, r, &answer)
		if err != nil && len(said) > 0 {
			err = fault.Errorf(fault.KindOf(err), "%w\n%s", err, strings.Join(said, "\n"))
		}
		if err != nil {
			return mcpserver.Answer{}, err
		}
		value, err := withSaid(answer, said)
		return mcpserver.Answer{Text: strings.Join(append(said, text(answer)), "\n"), Value: value}, err
	}
}

// withSaid adds what the supervisor said to an answer for programs: some
// clients show their model nothing else.
func withSaid(answer any, said []string) (any, error) {
	if len(said) == 0 {
		return answer, nil
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil, fault.Errorf(fault.Internal, "encode an answer: %w", err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fault.Errorf(fault.Internal, "encode an answer: %w", err)
	}
	all["said"] = said
	return all, nil
}

type targetArguments struct {
	Target string `json:"target"`
}

// the returns the target, which must be there.
func (a targetArguments) the() (string, error) {
	if strings.TrimSpace(a.Target) == "" {
		return "", fault.Errorf(fault.Usage, "target is missing: a #channel or a nick")
	}
	return a.Target, nil
}

type saidArguments struct {
	targetArguments
	Text string `json:"text"`
}

// message is a request to say something.
func (a saidArguments) message(kind string) (ipc.Request, error) {
	to, err := a.the()
	if err == nil && strings.TrimSpace(a.Text) == "" {
		err = fault.Errorf(fault.Usage, "text is missing")
	}
	return ipc.Request{Type: kind, Channel: to, Message: a.Text}, err
}

func sendRequest(a saidArguments) (ipc.Request, error) { return a.message(ipc.Send) }

type askArguments struct {
	saidArguments
	timed
}

func askRequest(a askArguments) (ipc.Request, error) {
	r, err := a.message(ipc.Ask)
	if err != nil {
		return r, err
	}
	limit, err := a.limit()
	r.Timeout = limit.Seconds()
	return r, err
}

type readArguments struct {
	targetArguments
	Limit *int `json:"limit"`
}

// maxMessages bounds one answer of channel_read.
const maxMessages = 500

func readRequest(a readArguments) (ipc.Request, error) {
	from, err := a.the()
	r := ipc.Request{Type: ipc.Read, Channel: from}
	if err == nil && a.Limit != nil {
		r.Limit = *a.Limit
		if r.Limit < 1 || r.Limit > maxMessages {
			err = fault.Errorf(fault.Usage, "limit %d: from 1 to %d", r.Limit, maxMessages)
		}
	}
	return r, err
}

func whoRequest(a targetArguments) (ipc.Request, error) {
	of, err := a.the()
	return ipc.Request{Type: ipc.Who, Target: of}, err
}

func listRequest(struct{}) (ipc.Request, error) { return ipc.Request{Type: ipc.Channels}, nil }

type channelArguments struct {
	Channel string `json:"channel"`
}

// about is a request about the channel, which must be there.
func (a channelArguments) about(kind string) (ipc.Request, error) {
	if strings.TrimSpace(a.Channel) == "" {
		return ipc.Request{}, fault.Errorf(fault.Usage, "channel is missing")
	}
	return ipc.Request{Type: kind, Channel: a.Channel}, nil
}

func joinRequest(a channelArguments) (ipc.Request, error) { return a.about(ipc.Join) }
func partRequest(a channelArguments) (ipc.Request, error) { return a.about(ipc.Part) }

type topicArguments struct {
	channelArguments
	Topic *string `json:"topic"`
}

func topicRequest(a topicArguments) (ipc.Request, error) {
	r, err := a.about(ipc.Topic)
	r.Topic = a.Topic
	return r, err
}

func describeMessages(m ipc.Messages) string {
	var lines []string
	if m.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("(%d older messages are no longer kept)", m.Dropped))
	}
	for _, l := range m.Messages {
		lines = append(lines, fmt.Sprintf("%s <%s> %s", l.At.Local().Format("15:04:05"), l.Nick, l.Text))
	}
	if len(lines) == 0 {
		return "nothing new"
	}
	return strings.Join(lines, "\n")
}

func describePeople(p ipc.People) string {
	var lines []string
	for _, one := range p.People {
		line := one.Nick
		if one.Agent {
			line += " (agent)"
		}
		if len(one.Tags) > 0 {
			line += " tags: " + strings.Join(one.Tags, ", ")
		}
		if one.Away {
			line += ", away"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "nobody"
	}
	return strings.Join(lines, "\n")
}
