package harness

import (
	"context"
	"strings"

	"den/internal/agent/harness/ipc"
	"den/internal/base/fault"
)

// defaultRead is how many messages irc_read returns when it does not say.
const defaultRead = 50

// handle answers a request on the socket.
func (h *Harness) handle(ctx context.Context, r ipc.Request, c *ipc.Client) (any, []string, error) {
	h.active.Note()
	if command, ok := chatCommands[r.Type]; ok {
		if h.chat == nil {
			return nil, nil, fault.Hintf(fault.Errorf(fault.Unsupported, "agent '%s' is in no channels", h.config.Agent), "give it channels in the workspace file")
		}
		return command(h, ctx, r)
	}
	command, ok := ownCommands[r.Type]
	if !ok {
		return nil, nil, fault.Errorf(fault.Usage, "the harness knows no %q", r.Type)
	}
	data, err := command(h, ctx, r, c)
	return data, nil, err
}

// chatCommands need a server.
var chatCommands = map[string]func(*Harness, context.Context, ipc.Request) (any, []string, error){
	ipc.Send:     (*Harness).chatSend,
	ipc.Read:     (*Harness).chatRead,
	ipc.Ask:      (*Harness).chatAsk,
	ipc.Join:     (*Harness).chatJoin,
	ipc.Part:     (*Harness).chatPart,
	ipc.Who:      (*Harness).chatWho,
	ipc.Channels: (*Harness).chatChannels,
	ipc.Topic:    (*Harness).chatTopic,
}

func (h *Harness) chatSend(ctx context.Context, r ipc.Request) (any, []string, error) {
	if err := h.checkSend(r); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	if err := h.chat.Send(ctx, r.Channel, r.Message, r.ID, false); err != nil {
		return nil, nil, err
	}
	return ipc.Sent{Channel: r.Channel}, nil, nil
}

func (h *Harness) checkSend(r ipc.Request) error {
	switch {
	case r.Channel == "":
		return fault.Errorf(fault.Usage, "say to which channel or person")
	case strings.TrimSpace(r.Message) == "":
		return fault.Errorf(fault.Usage, "a message needs text")
	case h.chat.IsChannel(r.Channel) && !h.isIn(r.Channel):
		return fault.Hintf(fault.Errorf(fault.Denied, "%s is not joined", r.Channel), "join it first: den channel join '%s'", r.Channel)
	}
	return nil
}

func (h *Harness) isIn(channel string) bool {
	for _, c := range h.chat.Channels() {
		if h.chat.Same(c, channel) {
			return true
		}
	}
	return false
}

func (h *Harness) chatRead(_ context.Context, r ipc.Request) (any, []string, error) {
	if r.Channel == "" {
		return nil, nil, fault.Errorf(fault.Usage, "say which channel or person to read")
	}
	limit := r.Limit
	if limit == 0 {
		limit = defaultRead
	}
	lines, dropped, err := h.buffer.read(h.bufferName(r.Channel), r.Reader, limit)
	if lines == nil {
		lines = []ipc.Line{}
	}
	return ipc.Messages{Messages: lines, Dropped: dropped}, nil, err
}

// bufferName is the name under which the messages of a channel or person are
// kept, whatever case it is given in.
func (h *Harness) bufferName(name string) string {
	for _, known := range h.buffer.names() {
		if h.chat.Same(known, name) {
			return known
		}
	}
	return name
}

func (h *Harness) chatJoin(ctx context.Context, r ipc.Request) (any, []string, error) {
	if !h.chat.IsChannel(r.Channel) {
		return nil, nil, notAChannel(r.Channel)
	}
	if err := h.chat.Join(ctx, r.Channel); err != nil {
		return nil, nil, err
	}
	return struct{}{}, nil, h.channels.change(func(p *channelsFile) { p.join(r.Channel) })
}

func (h *Harness) chatPart(ctx context.Context, r ipc.Request) (any, []string, error) {
	if !h.chat.IsChannel(r.Channel) {
		return nil, nil, notAChannel(r.Channel)
	}
	if err := h.chat.Part(ctx, r.Channel); err != nil {
		return nil, nil, err
	}
	return struct{}{}, nil, h.channels.change(func(p *channelsFile) { p.leave(r.Channel) })
}

func notAChannel(name string) error {
	return fault.Hintf(fault.Errorf(fault.Usage, "%q is not the name of a channel", name), "names of channels begin with #")
}

func (h *Harness) chatWho(ctx context.Context, r ipc.Request) (any, []string, error) {
	target := r.Target
	if target == "" {
		target = r.Channel
	}
	if target == "" {
		return nil, nil, fault.Errorf(fault.Usage, "say which channel or person")
	}
	people, err := h.chat.Who(ctx, target)
	return ipc.People{People: people}, nil, err
}

func (h *Harness) chatChannels(context.Context, ipc.Request) (any, []string, error) {
	channels := h.chat.Channels()
	if channels == nil {
		channels = []string{}
	}
	return ipc.Joined{Channels: channels}, nil, nil
}

func (h *Harness) chatTopic(ctx context.Context, r ipc.Request) (any, []string, error) {
	if !h.chat.IsChannel(r.Channel) {
		return nil, nil, notAChannel(r.Channel)
	}
	if r.Topic != nil {
		return ipc.ChannelTopic{Channel: r.Channel, Topic: *r.Topic}, nil, h.chat.SetTopic(ctx, r.Channel, *r.Topic)
	}
	topic, err := h.chat.Topic(ctx, r.Channel)
	return ipc.ChannelTopic{Channel: r.Channel, Topic: topic}, nil, err
}
