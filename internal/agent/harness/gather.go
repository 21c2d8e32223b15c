package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"den/internal/agent/harness/ipc"
	"den/internal/agent/runner"
	"den/internal/base/fault"
	"den/internal/base/poll"
	"den/internal/base/wake"
)

// A channel carries tags in its topic. The agents in it invite those whose
// tags match. Whoever is invited is told, and decides.

// gatherPause bounds how often it is looked who could be invited.
const gatherPause = 250 * time.Millisecond

// maxReceived bounds the invitations that wait; more are not told.
const maxReceived = 20

// gathering is what has happened in channels and is to be looked at.
type gathering struct {
	wake wake.Signal // room for one token

	mu       sync.Mutex // guards the fields below
	stale    []string   // channels whose topic is to be read
	received []Invitation

	tagged map[string][]string // channels with tags; of the goroutine of gather alone
}

func newGathering() gathering {
	return gathering{wake: wake.New(), tagged: map[string][]string{}}
}

func (g *gathering) topicChanged(channel string) {
	g.mu.Lock()
	if !slices.Contains(g.stale, channel) {
		g.stale = append(g.stale, channel)
	}
	g.mu.Unlock()
	g.wake.Set()
}

func (g *gathering) invited(i Invitation) {
	g.mu.Lock()
	if len(g.received) < maxReceived {
		g.received = append(g.received, i)
	}
	g.mu.Unlock()
	g.wake.Set()
}

func (g *gathering) take() (stale []string, received []Invitation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stale, received = g.stale, g.received
	g.stale, g.received = nil, nil
	return stale, received
}

// gather invites agents and tells the agent of invitations until the context
// ends.
func (h *Harness) gather(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.rooms.wake:
		}
		stale, received := h.rooms.take()
		for _, channel := range stale {
			h.readTags(ctx, channel)
		}
		h.inviteMatching(ctx)
		for _, i := range received {
			h.considerInvitation(ctx, i)
		}
		if poll.Pause(ctx, gatherPause) != nil {
			return
		}
	}
}

// readTags learns which tags a channel carries.
func (h *Harness) readTags(ctx context.Context, channel string) {
	delete(h.rooms.tagged, channel)
	topic, err := h.chat.Topic(ctx, channel)
	if err != nil {
		h.logf("read the tags of %s: %v", channel, err) // it is read again when the agent joins again
		return
	}
	if tags := h.chat.Tags(topic); len(tags) > 0 {
		h.rooms.tagged[channel] = tags
	}
}

// inviteMatching invites agents to the channels that carry their tags.
func (h *Harness) inviteMatching(ctx context.Context) {
	for channel, tags := range h.rooms.tagged {
		if !h.isIn(channel) {
			delete(h.rooms.tagged, channel)
			continue
		}
		if err := h.inviteTo(ctx, channel, tags); err != nil {
			h.logf("invite agents to %s: %v", channel, err)
		}
	}
}

func (h *Harness) inviteTo(ctx context.Context, channel string, tags []string) error {
	members, err := h.chat.Who(ctx, channel)
	if err != nil || !h.invitesFor(members) {
		return err
	}
	everybody, err := h.chat.Everybody(ctx)
	if err != nil {
		return err
	}
	for _, p := range everybody {
		isMember := slices.ContainsFunc(members, func(m ipc.Person) bool { return h.chat.Same(m.Nick, p.Nick) })
		if !p.Agent || isMember || len(common(p.Tags, tags)) == 0 || !h.channels.mayInvite(channel, p.Nick) {
			continue
		}
		if err := h.chat.Invite(ctx, p.Nick, channel); err != nil && fault.KindOf(err) != fault.Denied {
			return err
		}
		if err := h.channels.change(func(f *channelsFile) { f.invite(channel, p.Nick) }); err != nil {
			return err
		}
	}
	return nil
}

// invitesFor reports whether this agent is the one of a channel's agents that
// invites: the first by name, so that nobody is invited by all of them.
func (h *Harness) invitesFor(members []ipc.Person) bool {
	first := ""
	for _, m := range members {
		if name := strings.ToLower(m.Nick); m.Agent && (first == "" || name < first) {
			first = name
		}
	}
	return first != "" && h.chat.Same(first, h.chat.Nick())
}

// common returns what is in both lists.
func common(a, b []string) []string {
	var both []string
	for _, tag := range a {
		if slices.Contains(b, tag) {
			both = append(both, tag)
		}
	}
	return both
}

// considerInvitation tells the agent of an invitation, once for each channel.
func (h *Harness) considerInvitation(ctx context.Context, i Invitation) {
	if !h.chat.IsChannel(i.Channel) || h.isIn(i.Channel) || h.channels.wasOffered(i.Channel) {
		return
	}
	if allowed, _ := h.peers.allow("invitation "+i.Nick, true, h.clock()); !allowed {
		h.logf("too many invitations of %s: the one to %s is not told", i.Nick, i.Channel)
		return
	}
	topic, err := h.chat.Topic(ctx, i.Channel)
	if err != nil {
		h.logf("read the topic of %s: %v", i.Channel, err) // some servers tell it to members alone
	}
	text := invitationText(i, topic, h.chat.Tags(topic), h.chat.OwnTags())
	h.screen.Notef("invited to %s by %s", i.Channel, i.Nick)
	if _, err := h.runner.SendPrompt(runner.Prompt{ID: invitationID(i.Channel), Text: text}); err != nil {
		h.logf("tell the agent of an invitation: %v", err)
		return
	}
	if err := h.channels.change(func(f *channelsFile) { f.offer(i.Channel) }); err != nil {
		h.logf("%v", err)
	}
}

// invitationID is the same for the same channel.
func invitationID(channel string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(channel)))
	return "invitation-" + hex.EncodeToString(sum[:12])
}

// invitationText is what the agent is told of an invitation.
func invitationText(i Invitation, topic string, tags, own []string) string {
	head := fmt.Sprintf("[IRC invitation to %s by %s", i.Channel, i.Nick)
	if len(tags) > 0 {
		head += "; tags: " + strings.Join(tags, ", ")
	}
	lines := []string{head + "]"}
	if topic != "" {
		lines = append(lines, "Its topic: "+topic)
	}
	why := "None of your tags is among the channel's."
	if both := common(own, tags); len(both) > 0 {
		why = "You are invited because of your tags: " + strings.Join(both, ", ") + "."
	}
	return strings.Join(append(lines, why,
		fmt.Sprintf("Decide whether you can help there. If so, join it with: den channel join '%s'", i.Channel),
		"If not, do nothing. Your answer to this message is not sent anywhere."), "\n")
}
